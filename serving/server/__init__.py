"""`servers.<name>`: what a server is, and what techniques decide by."""

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from infra.gpu_pools import GpuPool
from infra.section import EachOnce, KeyName, Section, Whole, nearest
from serving.engine import CandidateSettings, EngineSettings
from serving.front.settings import FrontSettings, SleepSettings, Wake
from serving.idle import IdleSettings
from serving.ladder import PRESETS, chosen
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
    preset: str | None = Field(default=None, description=f"one of {', '.join(PRESETS)}")
    techniques: Annotated[tuple[str, ...], EachOnce] | None = Field(
        default=None, validate_default=True, description="a list of cold-start techniques, beside those of the preset"
    )
    replicas: Annotated[Whole, Field(ge=1, le=64)] = Field(default=1, description="a whole number of pods, 1 to 64")
    rollout: Literal["recreate", "surge"] = Field(
        default="recreate",
        description="recreate (new pods take the GPUs of the old ones) or surge (they come beside)",
    )
    resources: ResourceSettings = Field(description="what the container asks of its node")
    shutdown: ShutdownSettings = Field(description="how a pod ends")
    front: FrontSettings = Field(default_factory=FrontSettings, description="how its front proxy works")
    sleep: SleepSettings = Field(default_factory=SleepSettings, description="when it sleeps and what wakes it")
    idle: IdleSettings | None = Field(default=None, description="when it sleeps (left out: never)")

    @field_validator("preset")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in PRESETS:
            raise ValueError(f"no preset; {nearest(value, list(PRESETS))}")
        return value

    @field_validator("techniques")
    @classmethod
    def _said(cls, value: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        if value is None and info.data.get("preset", "") is None:
            raise ValueError("missing, and so is preset; expected one of both ([] is the baseline)")
        return value

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of its techniques, those of the preset first."""
        return chosen(self.preset, self.techniques or (), self.model)

    @property
    def wake(self) -> Wake:
        """What wakes it where its settings do not say."""
        return PRESETS[self.preset].wake if self.preset else "on-request"

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
        sleep=settings.sleep.model_copy(update={"wake": settings.sleep.wake or settings.wake}),
        pool=pool,
        region=region,
    )
