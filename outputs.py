"""What other stacks may rely on. Declared once: the program exports from it, and application code reads from it.

platform = outputs.read(pulumi.StackReference("acme/vllm-eks/prod"))
url = platform.apply(lambda p: p.servers["gemma"].url)
"""

import asyncio
from collections.abc import Mapping

import pulumi
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel


class Published(BaseModel):
    """A mapping that leaves the stack: camelCase keys. Readers ignore keys that a newer platform has added."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class PredictedPhase(Published):
    """A part of a start."""

    seconds: float
    evidence: str
    """How well they are known: measured, published or estimated."""


class PredictedStart(Published):
    """How long a start is expected to take. Predictions never are time limits."""

    seconds: float
    measured: float
    """How many of them were measured on such a server; the other two sum up with it."""
    published: float
    estimated: float
    phases: Mapping[str, PredictedPhase]
    """In their order."""


class Server(Published):
    """A vLLM server."""

    url: str
    """Base URL of the OpenAI API, inside the cluster."""
    model: str
    """The model name to send."""
    cache_prefix: str | None = None
    """Of its start-up cache in the model bucket: another one means that the next release finds no cache, or needs one
    to be built. None: a platform that does not say yet."""
    predicted: Mapping[str, Mapping[str, PredictedStart]] | None = None
    """By instance type of its pool and kind of start: freshNode, warmNode, restart, and wake for one that sleeps. None:
    a platform that does not say yet."""


class GpuPool(Published):
    """Where pods with a GPU may run."""

    product: str
    node_selector: Mapping[str, str]
    toleration: Mapping[str, str]
    capacity: str
    """`spot-first`: a pod may be given two minutes to end; `on-demand`, `reserved` or `static`."""
    max_gpus: int
    """What may run at once, of everybody."""
    standing_usd_per_hour: str
    """USD that its warm or static nodes cost on-demand: a figure, a range such as 3.36-4.2, or `unknown`."""


class Platform(Published):
    """Everything that a stack of this project exports."""

    region: str
    cluster_name: str
    cluster_endpoint: str
    """What tells this cluster from another one of the same name."""
    kubeconfig: str
    """JSON text; it holds no credentials, it runs `aws eks get-token`."""
    namespace: str
    """Of the servers."""
    model_bucket: str
    image_prefixes: Mapping[str, str]
    """What an image reference begins with to be pulled through the cache, by the registry that it replaces."""
    image_repositories: Mapping[str, str]
    """Repositories for images of one's own: reference without a tag, by name. To push needs rights of the pusher's."""
    gpu_pools: Mapping[str, GpuPool]
    servers: Mapping[str, Server]


def export(values: Mapping[str, pulumi.Input[object]]) -> None:
    """Export the stack's outputs. The program's last line.

    Args:
        values: one value per field of `Platform`, by field name; inside, outputs are allowed anywhere.

    Raises:
        TypeError: a field is missing or unknown.
    """
    fields = set(Platform.model_fields)
    if set(values) != fields:
        raise TypeError(f"outputs differ from Platform: {sorted(set(values) ^ fields)}")
    for name, value in values.items():
        pulumi.export(to_camel(name), value)
    pulumi.run(_registrations_begun)


async def _registrations_begun() -> None:
    """Let every registration begin before the SDK waits for the program's end.

    It waits for registrations that have begun, one after the other. Finding none, it waits for the first of all open
    outputs, again and again: the square of their number, 12 s of the preview of 50 servers, which have 13,000
    (`wait_for_rpcs` of pulumi 3.272; `benchmarks/growth.py`).
    """
    await asyncio.sleep(0)


def read(stack: pulumi.StackReference) -> pulumi.Output[Platform]:
    """Return the typed outputs of a platform stack.

    Raises:
        pulumi.RunError: (when resolved) outputs are missing or have another type: one line that names each.
    """
    names = [to_camel(name) for name in Platform.model_fields]
    values = pulumi.Output.all(**{name: stack.get_output(name) for name in names})
    return pulumi.Output.all(stack.name, values).apply(lambda known: _platform(*known))


def _platform(stack: str, values: dict[str, object]) -> Platform:
    present = {name: value for name, value in values.items() if value is not None}
    try:
        return Platform.model_validate(present)
    except ValidationError as error:
        problems = [(".".join(map(str, detail["loc"])), detail) for detail in error.errors()]
        # one line: of what is raised inside an output, not every front end of the engine shows more
        said = [f"{path} is missing" if it["type"] == "missing" else f"{path}: {it['msg']}" for path, it in problems]
        raise pulumi.RunError(f"{stack} has other outputs than this program reads: {'; '.join(said)}") from None
