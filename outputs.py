"""What other stacks may rely on. Declared once: the program exports from it, and application code reads from it.

platform = outputs.read(pulumi.StackReference("acme/vllm-eks/prod"))
url = platform.apply(lambda p: p.servers["gemma"].url)
"""

from collections.abc import Mapping

import pulumi
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel


class Published(BaseModel):
    """A mapping that leaves the stack: camelCase keys. Readers ignore keys that a newer platform has added."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Server(Published):
    """A vLLM server."""

    url: str
    """Base URL of the OpenAI API, inside the cluster."""
    model: str
    """The model name to send."""


class GpuPool(Published):
    """Where pods with a GPU may run."""

    product: str
    node_selector: Mapping[str, str]
    toleration: Mapping[str, str]


class Platform(Published):
    """Everything that a stack of this project exports."""

    region: str
    cluster_name: str
    kubeconfig: str
    """JSON text; it holds no credentials, it runs `aws eks get-token`."""
    namespace: str
    """Of the servers."""
    model_bucket: str
    gpu_pools: Mapping[str, GpuPool]
    servers: Mapping[str, Server]


def export(values: Mapping[str, pulumi.Input[object]]) -> None:
    """Export the stack's outputs.

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


def read(stack: pulumi.StackReference) -> pulumi.Output[Platform]:
    """Return the typed outputs of a platform stack.

    Raises:
        pulumi.RunError: (when resolved) an output is missing or has another type; the message names it.
    """
    names = [to_camel(name) for name in Platform.model_fields]
    return pulumi.Output.all(**{name: stack.get_output(name) for name in names}).apply(_platform)


def _platform(values: dict[str, object]) -> Platform:
    present = {name: value for name, value in values.items() if value is not None}
    try:
        return Platform.model_validate(present)
    except ValidationError as error:
        lines = [f"  {'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
        raise pulumi.RunError("\n".join(["the platform stack's outputs do not fit:", *lines])) from None
