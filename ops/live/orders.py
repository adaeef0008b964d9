"""`ops sleep` and `ops wake`: orders to the agents of a server's pods, and what came of them.

An order is given to all pods first and waited for afterwards: each drains for as long as its own requests take.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typer

from infra.naming import ONBOARDING
from ops import COMMAND
from ops.cluster.api import Cluster
from ops.cluster.jobs import template
from ops.cluster.tunnel import connection
from ops.consent import agreed
from ops.failures import INTERRUPTED, RefusedError, UnclearError
from ops.live import pods
from ops.live.agent import Agent
from ops.live.state import of_pod
from ops.live.status import spoken
from ops.stack.stack_file import Stack
from ops.terminal import plain, progress
from serving.front import CONTROL_PORT
from serving.front.containers import AGENT
from serving.server import ServerSettings
from serving.techniques.front.sleep_mode import SLEEP_MODE

POLL = 0.5
SETTLED = 2.0
"""Seconds asleep after which a sleep that is to stay counts: its order stays open, so that nothing else tells. Later
sleeps than the first, which is part of the start, take 0.4 s (gpu.md 9)."""

SLACK = 660.0
"""Seconds beyond the drain that an agent gives its engine to fall asleep or to wake (engine_client.PATIENCE: 600)."""

Verb = Literal["sleep", "wake"]

_DOWN = frozenset({"starting", "failed", "stopping"})
"""States in which an order means nothing: they end in a start, or with the pod."""

DONE: Mapping[Verb, str] = {"sleep": "asleep", "wake": "awake"}


@dataclass(frozen=True, kw_only=True)
class End:
    """What came of an order to one pod."""

    pod: str
    state: str
    seconds: float | None
    """Since the order; of a wake what the agent measured. None: it was so already."""
    problem: str
    """Why it is not as it was ordered; empty: it is."""

    def line(self, verb: Verb) -> str:
        """Return it for people."""
        if self.problem:
            return f"{self.pod}: {self.state}: {self.problem}"
        if self.seconds is None:
            return f"{self.pod}: {self.state} already"
        return f"{self.pod}: {self.state}, {'woke in' if verb == 'wake' else 'after'} {self.seconds:.2f} s"

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        return {"pod": self.pod, "state": self.state, "seconds": self.seconds, "problem": self.problem or None}


def refuse_unfit(stack: Stack, server: str, verb: Verb) -> ServerSettings:
    """Return the settings of a server that orders are for, before anything is asked of its cluster.

    Raises:
        RefusedError: it has no sleep mode, or its pods' annotations decide.
        UsageError: there is no such server.
    """
    settings = stack.server(server)
    title = f"servers.{server}"
    if SLEEP_MODE.name not in settings.chosen:
        raise RefusedError(f"{title}: without {SLEEP_MODE.name}, so it neither sleeps nor wakes; docs/idle.md")
    if (settings.sleep.wake or settings.wake) == "external":
        wanted = "asleep" if verb == "sleep" else "awake"
        raise RefusedError(
            f"{title}.sleep.wake: external: whoever annotates its pods would overrule an order; annotate them:"
            f" {pods.annotate(stack.settings.namespace, server, wanted)}"
        )
    return settings


def ordered(
    cluster: Cluster, stack: Stack, server: str, verb: Verb, *, pod: str | None, stay: bool = False, yes: bool
) -> list[End]:
    """Order the pods of a server to sleep or to wake, and wait until each has, or says that it has not.

    Args:
        cluster: the stack's.
        stack: names the server.
        server: whose pods.
        verb: what.
        pod: one of them; None: all.
        stay: no request wakes them.
        yes: nobody is asked.

    Raises:
        RefusedError: the cluster is another stack's, no pod takes the order, or it was not wanted after all.
        UnclearError: an agent does not answer; what was ordered before is in the message.
        typer.Exit: Ctrl-C; what was ordered stands, and that is said.
    """
    settings, namespace = refuse_unfit(stack, server, verb), stack.settings.namespace
    # a kubeconfig leads anywhere: another stack's server of this name would be put to sleep
    template(cluster, stack, ONBOARDING, why_missing="nobody can tell whose cluster this is: pulumi up")
    chosen = pods.chosen(pods.of_server(cluster, namespace, server), server, pod)
    if not chosen:
        raise RefusedError(f"servers.{server}: {pods.why_none(cluster, namespace, server)[1]}")
    for each in chosen:
        if not pods.sleeps(each):
            raise RefusedError(f"pod {namespace}/{pods.name(each)}: of a rollout before {SLEEP_MODE.name}: pulumi up")
        if not pods.status(each, AGENT).get("started"):
            raise RefusedError(f"pod {namespace}/{pods.name(each)}: {of_pod(each)}")
    orders = _Orders(cluster, namespace, verb, stay=stay)
    states = {name: orders.state(name) for name in map(pods.name, chosen)}
    _refuse_unable(server, verb, states)
    there = [name for name, state in states.items() if orders.done(state)]
    wanted = [name for name in states if name not in there]
    ends = [End(pod=name, state=DONE[verb], seconds=None, problem="") for name in there]
    if not wanted:
        return ends
    agreed(_consent(stack, server, settings, verb, states, wanted, stay=stay), yes=yes)
    return [*ends, *_carried_out(orders, server, wanted, settings)]


def _carried_out(orders: "_Orders", server: str, names: Sequence[str], settings: ServerSettings) -> list[End]:
    given: list[str] = []
    try:
        with progress(f"servers.{server}") as say:
            for name in names:
                orders.give(name)
                given.append(name)
            limit = time.monotonic() + SLACK + settings.sleep.drain_seconds
            return [orders.awaited(name, limit, say) for name in names]
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{orders.standing(given, server)}\n")
        raise typer.Exit(INTERRUPTED) from None
    except (RefusedError, UnclearError) as failure:
        raise type(failure)(f"{failure}\n{orders.standing(given, server)}") from None


class _Orders:
    """One verb to the pods of a namespace."""

    def __init__(self, cluster: Cluster, namespace: str, verb: Verb, *, stay: bool) -> None:
        self._cluster, self._namespace, self._verb, self._stay = cluster, namespace, verb, stay
        self._since: dict[str, float] = {}
        self._asked = ""
        """Whose order is on its way: it may have arrived, or not."""

    def state(self, name: str) -> Mapping[str, Any]:
        """Ask how a pod stands."""
        return self._ask(name, Agent.state)

    def give(self, name: str) -> None:
        """Give the order."""
        self._since[name] = time.monotonic()
        self._asked = name
        self._ask(name, (lambda agent: agent.sleep(stay=self._stay)) if self._verb == "sleep" else Agent.wake)
        self._asked = ""

    def done(self, state: Mapping[str, Any]) -> bool:
        """Return whether a state is what is wanted, for good."""
        if state["state"] != DONE[self._verb]:
            return False
        if self._verb == "wake":
            return bool(state["wanted"] != "asleep")
        # an order without `stay` is taken away when the engine has said that it sleeps
        return bool(state["stay"]) == self._stay and (state["wanted"] is None or state["seconds"] >= SETTLED)

    def awaited(self, name: str, limit: float, say: Callable[[str], None]) -> End:
        """Wait until a pod has done it, or gives up."""
        while True:
            state = self.state(name)
            seconds = time.monotonic() - self._since[name]
            if self.done(state):
                took = state["lastWakeSeconds"] if self._verb == "wake" else seconds
                return End(pod=name, state=DONE[self._verb], seconds=round(took, 3), problem="")
            if problem := self._given_up(state):
                return End(pod=name, state=state["state"], seconds=round(seconds, 3), problem=problem)
            if time.monotonic() > limit:
                raise UnclearError(f"pod {self._namespace}/{name}: still {state['state']} after {spoken(seconds)}")
            running = f", {state['inFlight']} requests run" if state["inFlight"] else ""
            say(f"{name}: {state['state']}{running}")
            time.sleep(POLL)

    def standing(self, given: Sequence[str], server: str) -> str:
        """Return the line on what goes on without us."""
        said = [f"stands for {', '.join(given)}"] if given else []
        if self._asked:
            said.append(f"may have reached {self._asked}")
        if not said:
            return "nothing was ordered"
        back = "wake" if self._verb == "sleep" else "sleep"
        return f"the order to {self._verb} {' and '.join(said)}; back: {COMMAND} {back} --server {server}"

    def _given_up(self, state: Mapping[str, Any]) -> str:
        """Return why the agent does not carry the order out any more; empty: it does."""
        problem = plain(str(state["problem"] or ""))
        if state["state"] in _DOWN:
            return problem or f"the pod is {state['state']}"
        if self._verb == "sleep" and state["state"] in {"awake", "asleep"} and state["wanted"] != "asleep":
            return problem or "a request came, and it stays awake"
        return ""

    def _ask(self, name: str, ask: Callable[[Agent], Mapping[str, Any]]) -> Mapping[str, Any]:
        with connection(self._cluster, self._namespace, name, CONTROL_PORT) as opened:
            return ask(Agent(opened))


def _refuse_unable(server: str, verb: Verb, states: Mapping[str, Mapping[str, Any]]) -> None:
    unable = [
        f"servers.{server}: pod {name} is {state['state']}{': ' if state['problem'] else ''}{state['problem'] or ''};"
        f" an order to {verb} is for one that is up"
        for name, state in states.items()
        if state["state"] in _DOWN
    ]
    if unable:
        raise RefusedError("\n".join(unable))


def _consent(
    stack: Stack,
    server: str,
    settings: ServerSettings,
    verb: Verb,
    states: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    *,
    stay: bool,
) -> str:
    title = f"servers.{server}: {'pod' if len(names) == 1 else f'{len(names)} pods'} {', '.join(names)}"
    if verb == "wake":
        return f"{title}: wakes now" if len(names) == 1 else f"{title}: wake now"
    its = stack.situation(settings).sleep
    running = sum(state["inFlight"] for name, state in states.items() if name in names)
    lines = [
        f"{title}: to sleep when what runs has ended ({running} requests, at most {its.drain_seconds} s, else awake)",
        f"until then and afterwards requests wait {its.hold_seconds} s and are refused, until {COMMAND} wake"
        f" --server {server}"
        if stay
        else "the next request wakes it, in about a second",
    ]
    return "\n".join(lines)
