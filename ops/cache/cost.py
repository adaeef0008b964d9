"""What a build costs before it is made: two starts of the engine on a GPU of the pool, as the budget predicts them."""

from dataclasses import dataclass

from infra.instances import Price
from ops.stack.stack_file import Stack
from serving.budget.predict import in_force, predicted
from serving.budget.timeline import total
from serving.server import ServerSettings
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.front.sleep_mode import SLEEP_MODE


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one build. On another type of the pool it is another one."""

    instance_type: str
    cold: float
    """Seconds of the start that fills the cache, with its node."""
    warm: float
    """Seconds of the start that proves it."""
    price: Price | None
    """Of an hour on-demand; None: nobody knows."""

    @property
    def seconds(self) -> float:
        """Of both."""
        return self.cold + self.warm

    @property
    def usd(self) -> float | None:
        """Of both; the upload, and how long the pool keeps the node afterwards, come on top."""
        return self.seconds * self.price.usd / 3600 if self.price else None

    def __str__(self) -> str:
        """Return it for people."""
        money = (
            "nobody knows the price: gpuPools.<name>.prices" if self.usd is None else f"{self.usd:.2f} USD on-demand"
        )
        return (
            f"two starts on {self.instance_type}, {self.cold:.0f} + {self.warm:.0f} = {self.seconds:.0f} s as predicted"
            f" ({money}), then the upload"
        )


def cost(stack: Stack, server: ServerSettings) -> Cost:
    """Return what the build of a server's cache costs, on the first type of its pool."""
    pool = stack.settings.pools[server.pool]
    about, kind = stack.situation(server), pool.types[0]
    # nothing is restored and no sidecar sleeps it; the second start finds what the first one left
    names = [name for name in in_force(about, server.chosen) if name not in {CACHE_RESTORE.name, SLEEP_MODE.name}]
    return Cost(
        instance_type=kind.name,
        cold=total(predicted(about, names, "fresh node", kind)),
        warm=total(predicted(about, names, "restart", kind)),
        price=pool.price(kind.name, stack.region),
    )
