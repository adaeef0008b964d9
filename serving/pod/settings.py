"""What a stack file says of a server's pod."""

from typing import Annotated

from pydantic import Field

from infra.section import Section, Whole
from serving.engine import TEARDOWN


class ResourceSettings(Section):
    """`servers.<name>.resources`. GPUs follow from `engine.tensorParallel`."""

    cpu: Annotated[Whole, Field(ge=1, le=192)] = Field(description="a whole number of vCPUs, 1 to 192")
    memory_gib: Annotated[Whole, Field(ge=8, le=4096)] = Field(
        description="a whole number of GiB, 8 (6 for the engine, 2 for shared memory) to 4096"
    )


class ShutdownSettings(Section):
    """`servers.<name>.shutdown`.

    SIGTERM closes the port at once (measured on vLLM 0.26): what is still routed to the pod must arrive before.
    """

    drain_seconds: Annotated[Whole, Field(ge=5, le=60)] = Field(
        description="a whole number of seconds, 5 to 60, between leaving the Service and SIGTERM"
    )
    request_seconds: Annotated[Whole, Field(ge=1, le=90)] = Field(
        description="a whole number of seconds, 1 to 90, that running requests get after SIGTERM"
    )

    @property
    def grace(self) -> int:
        """Seconds from the pod's deletion to SIGKILL."""
        return self.drain_seconds + self.request_seconds + TEARDOWN
