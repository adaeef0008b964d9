"""What each way of being idle costs, over a distribution of idle intervals. Money is USD, time is seconds.

Of a return three things cost: nodes that were paid while nothing was asked, the node while the server starts, and the
waiting of whoever asked. Article 000 (5.4) weighs the first against the last: T x C against the penalty of a return.
Left out: what a busy server costs, which is the same for all (but for a warm node, which is one more), and the wait for
EC2 at the beginning of a start, which nobody is billed for and which is counted as if it were.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ops.idle.plan.intervals import Intervals
from ops.idle.plan.penalty import Penalty

HOUR = 3600


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is paid for what."""

    price: float
    """USD an hour of all nodes of the server. Where nobody knows it, their number: sums in USD are node-hours then."""
    penalty: Penalty


@dataclass(frozen=True)
class Path:
    """One way back."""

    name: str
    seconds: float
    """How long a request waits for it."""
    share: float
    """Of the returns."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A policy over all intervals."""

    kept: float
    """Seconds a return, in the mean, that the nodes are paid and nobody is served."""
    paths: Sequence[Path]
    """Their shares sum up to 1."""
    terms: Terms

    @property
    def starting(self) -> float:
        """Seconds a return, in the mean, that the server takes to come back."""
        return sum(path.share * path.seconds for path in self.paths)

    @property
    def kept_usd(self) -> float:
        """Of a return."""
        return self.kept * self.terms.price / HOUR

    @property
    def starting_usd(self) -> float:
        """Of a return."""
        return self.starting * self.terms.price / HOUR

    @property
    def penalty_usd(self) -> float:
        """Of a return."""
        return sum(path.share * self.terms.penalty.usd(path.seconds) for path in self.paths)

    @property
    def usd(self) -> float:
        """Of a return, all together."""
        return self.kept_usd + self.starting_usd + self.penalty_usd

    def wait(self, share: float) -> float:
        """Return the seconds that this share of the returns wait at most."""
        passed = 0.0
        *others, last = sorted((path for path in self.paths if path.share > 0), key=lambda path: path.seconds)
        for path in others:
            passed += path.share
            if passed >= share - 1e-12:
                return path.seconds
        return last.seconds


def always_on(intervals: Intervals, terms: Terms) -> Outcome:
    """The server stays: nobody waits."""
    return Outcome(kept=intervals.mean, paths=[Path("awake", 0.0, 1.0)], terms=terms)


def asleep(intervals: Intervals, terms: Terms, *, after: float, wake: float) -> Outcome:
    """The server stays and sleeps `after` so many idle seconds. Its node costs what it costs awake."""
    late = 1 - _within(intervals.seconds, after)
    paths = [Path("awake", 0.0, 1 - late), Path("wake", wake, late)]
    return Outcome(kept=intervals.mean, paths=paths, terms=terms)


def node_kept(intervals: Intervals, terms: Terms, *, keep: float, restart: float, fresh: float) -> Outcome:
    """The pod goes at once, its empty node after `keep` seconds. 0 is scale to zero as article 000 has it."""
    hit = _within(intervals.seconds, keep)
    paths = [Path("restart", restart, hit), Path("fresh node", fresh, 1 - hit)]
    return Outcome(kept=_mean_up_to(intervals.seconds, keep), paths=paths, terms=terms)


def warm_node(intervals: Intervals, terms: Terms, *, keep: float, restart: float, warm: float) -> Outcome:
    """As `node_kept`, and another node always stands ready, also while the server is busy."""
    hit = _within(intervals.seconds, keep)
    paths = [Path("restart", restart, hit), Path("warm node", warm, 1 - hit)]
    kept = intervals.mean + intervals.busy + _mean_up_to(intervals.seconds, keep)
    return Outcome(kept=kept, paths=paths, terms=terms)


def best_keep(
    intervals: Intervals, terms: Terms, candidates: Iterable[float], *, restart: float, fresh: float
) -> tuple[float, Outcome]:
    """Return which of the candidates costs least as `keep`, the shortest of several, and what it costs.

    Between two intervals a longer `keep` costs more and saves nothing, so over all that there are, the best one is an
    interval, or the shortest that is allowed.

    Raises:
        ValueError: there is no candidate.
    """
    seconds, count = intervals.seconds, len(intervals.seconds)
    sums = [0.0, *accumulate(seconds)]
    rate = terms.price / HOUR
    hit_usd = rate * restart + terms.penalty.usd(restart)
    miss_usd = rate * fresh + terms.penalty.usd(fresh)

    def usd(keep: float) -> float:
        hits = bisect_right(seconds, keep)
        return rate * (sums[hits] + keep * (count - hits)) + hits * hit_usd + (count - hits) * miss_usd

    best = min(sorted(candidates), key=usd)
    return best, node_kept(intervals, terms, keep=best, restart=restart, fresh=fresh)


@dataclass(frozen=True)
class BreakEven:
    """An idle interval from which on the second way is the cheaper one."""

    stay: str
    go: str
    seconds: float
    """Infinite where the node costs nothing."""
    sum: str
    """How it comes about."""


def break_evens(terms: Terms, *, least: float, restart: float, fresh: float, wake: float | None) -> Iterator[BreakEven]:
    """Yield the intervals T at which T x C is what going saves: no distribution is needed for them.

    Args:
        terms: price C, and the penalty.
        least: seconds that an empty node stays at least.
        restart: seconds of a return on the node that was kept.
        fresh: seconds of one on a new node.
        wake: seconds of a wake; None: the server cannot sleep.
    """

    def one(stay: str, go: str, back: float, kept: float) -> BreakEven:
        penalty = terms.penalty.usd(fresh) - terms.penalty.usd(back)
        seconds = kept + fresh - back + (penalty * HOUR / terms.price if terms.price else float("inf"))
        first = f"{kept:g} s of an empty node + " if kept else ""
        # what waiting costs is all that hangs on the price
        last = f" + {penalty:.4g} USD of waiting / {terms.price:g} USD an hour" if penalty else ""
        return BreakEven(stay, go, seconds, f"{first}({fresh:.1f} - {back:.1f}) s of start{last}")

    yield one("always on", "scale to zero", 0.0, least)
    if wake is not None:
        yield one("sleep", "scale to zero", wake, least)
    # what a kept node can be worth at most, on the return that finds it
    yield one("node kept", "no node", restart, 0.0)


def _within(seconds: Sequence[float], limit: float) -> float:
    return bisect_right(seconds, limit) / len(seconds)


def _mean_up_to(seconds: Sequence[float], limit: float) -> float:
    hits = bisect_right(seconds, limit)
    return (sum(seconds[:hits]) + limit * (len(seconds) - hits)) / len(seconds)
