"""The server whose starts are measured, as its stack file has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from infra.gpu_pools.agreed import CAPACITY_LABEL, TYPE_LABEL
from ops.coldstart.record import Subject
from ops.stack.stack_file import Stack
from serving.budget.predict import in_force
from serving.cache_key.server import server_key
from serving.pod import Situation
from serving.server import ServerSettings
from serving.server.rollout import ZONE
from serving.techniques import TECHNIQUES
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.front.sleep_mode import SLEEP_MODE


@dataclass(frozen=True, kw_only=True)
class Server:
    """One of `servers`."""

    name: str
    stack: Stack
    settings: ServerSettings

    @classmethod
    def of(cls, stack: Stack, name: str) -> "Server":
        """Return the one of this name. Raises UsageError: there is none."""
        return cls(name=name, stack=stack, settings=stack.server(name))

    @cached_property
    def situation(self) -> Situation:
        """What techniques decide by."""
        return self.stack.situation(self.settings)

    @cached_property
    def techniques(self) -> tuple[str, ...]:
        """All that act on it, its pool's too."""
        return in_force(self.situation, self.settings.chosen)

    @property
    def restores(self) -> bool:
        """Whether a container brings its start-up cache before the engine starts."""
        return CACHE_RESTORE.name in self.techniques

    @property
    def primes(self) -> bool:
        """Whether it sleeps and wakes once before it takes traffic."""
        return SLEEP_MODE.name in self.techniques

    def subject(self, labels: Mapping[str, str], image: str | None, probe_seconds: float | None) -> Subject:
        """Return what was started.

        Args:
            labels: of the node; empty: nobody knows it.
            image: as the node pulls it.
            probe_seconds: between two questions for readiness.
        """
        names, capacity = self.techniques, labels.get(CAPACITY_LABEL)
        return Subject(
            stack=self.stack.name,
            region=self.stack.region,
            server=self.name,
            model=str(self.settings.model.uri),
            model_gib=float(self.settings.model.size_gib),
            engine_version=self.settings.engine.version,
            image=image,
            instance_type=labels.get(TYPE_LABEL),
            capacity=capacity if capacity in {"spot", "on-demand", "reserved"} else None,
            zone=labels.get(ZONE),
            preset=self.settings.preset,
            techniques=tuple(name for name in TECHNIQUES if name in names),
            fingerprint=server_key(self.situation, self.settings.chosen).fingerprint,
            tensor_parallel=self.settings.engine.tensor_parallel,
            probe_seconds=probe_seconds,
        )
