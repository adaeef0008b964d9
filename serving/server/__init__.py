"""`servers.<name>`: what a server is, and what techniques decide by."""

from typing import Annotated

from pydantic import Field

from infra.gpu_pools import GpuPool
from infra.section import EachOnce, KeyName, Section, Whole
from serving.engine import CandidateSettings, EngineSettings
from serving.idle import IdleSettings
from serving.model import ModelSettings
from serving.pod import Situation
from serving.pod.settings import ResourceSettings, ShutdownSettings


class ServerSettings(Section):
    """`servers.<name>`."""

    pool: KeyName = Field(description="the name of one of gpuPools")
    model: ModelSettings = Field(description="which model")
    engine: EngineSettings = Field(description="which vLLM, and how")
    candidate: CandidateSettings | None = Field(
        default=None, description="version, image and args that engine is to get, so that its cache can be built before"
    )
    techniques: Annotated[tuple[str, ...], EachOnce] = Field(
        description="a list of cold-start techniques (empty: the baseline)"
    )
    replicas: Annotated[Whole, Field(ge=1, le=64)] = Field(default=1, description="a whole number of pods, 1 to 64")
    resources: ResourceSettings = Field(description="what the container asks of its node")
    shutdown: ShutdownSettings = Field(description="how a pod ends")
    idle: IdleSettings | None = Field(default=None, description="when it sleeps (left out: never)")

    @property
    def promoted(self) -> "ServerSettings | None":
        """The server that its candidate makes of it, which has none itself; None without one."""
        if self.candidate is None:
            return None
        return self.model_copy(update={"engine": self.engine.released(self.candidate), "candidate": None})


def situation(settings: ServerSettings, pool: GpuPool, region: str) -> Situation:
    """Return what techniques decide by, for a server on a pool."""
    return Situation(
        model=settings.model,
        engine=settings.engine,
        resources=settings.resources,
        shutdown=settings.shutdown,
        pool=pool,
        region=region,
    )
