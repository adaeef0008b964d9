"""`servers.<name>`: what a server is, and what techniques decide by."""

from typing import Annotated

from pydantic import Field

from infra.gpu_pools import GpuPool
from infra.section import EachOnce, KeyName, Section
from serving.engine import CandidateSettings, EngineSettings
from serving.front.settings import FrontSettings, SleepSettings
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
    resources: ResourceSettings = Field(description="what the container asks of its node")
    shutdown: ShutdownSettings = Field(description="how a pod ends")
    front: FrontSettings = Field(default_factory=FrontSettings, description="how its front proxy works")
    sleep: SleepSettings = Field(default_factory=SleepSettings, description="when it sleeps and what wakes it")

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
        front=settings.front,
        sleep=settings.sleep,
        pool=pool,
        region=region,
    )
