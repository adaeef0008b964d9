"""What other stacks may rely on. Declared once: the program exports from it, and application code reads from it.

platform = outputs.read(pulumi.StackReference("acme/vllm-eks/prod"))
url = platform.apply(lambda p: p.servers["gemma"].url)
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence

import pulumi
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

VERSION = "1.1"
"""Of this declaration. The second number counts what was added: a reader takes any platform of the same first number,
older or newer. After a change here: `python -m contract` (docs/application-teams.md)."""

UNVERSIONED = "1.0"
"""What platforms exported before they said a version."""


class Published(BaseModel):
    """A mapping that leaves the stack: camelCase keys. Readers ignore keys that a newer platform has added."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class PredictedPhase(Published):
    """A part of a start."""

    seconds: float
    """Expected."""
    evidence: str
    """How well they are known: measured, published or estimated."""


class PredictedStart(Published):
    """How long a start is expected to take. Predictions never are time limits."""

    seconds: float
    """From the pod to the first token: the sum of the phases."""
    measured: float
    """How many of them were measured on such a server; the other two sum up with it."""
    published: float
    """How many others have published."""
    estimated: float
    """How many are a guess."""
    phases: Mapping[str, PredictedPhase]
    """In their order."""


class Pods(Published):
    """What a NetworkPolicy of yours lets out to: policies see pods, never Services."""

    labels: Mapping[str, str]
    """Of every pod of the server, in `namespace`, and of no other."""
    port: int
    """That they serve on, TCP."""


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
    model_prefix: str | None = None
    """Of its weights, configuration and tokenizer in the model bucket; ends with a slash."""
    pods: Pods | None = None
    """For network policies."""
    asks_for_token: bool | None = None
    """Whether requests below /v1/ need `Authorization: Bearer ...`."""


class GpuPool(Published):
    """Where pods with a GPU may run."""

    product: str
    """The GPU: what Karpenter calls it in `karpenter.k8s.aws/instance-gpu-name`."""
    node_selector: Mapping[str, str]
    """For a pod of yours with a GPU."""
    toleration: Mapping[str, str]
    """For the same pod."""
    capacity: str
    """`spot-first`: a pod may be given two minutes to end; `on-demand`, `reserved` or `static`."""
    max_gpus: int
    """What may run at once, of everybody."""
    standing_usd_per_hour: str
    """USD that its warm or static nodes cost on-demand: a figure, a range such as 3.36-4.2, or `unknown`."""


class Platform(Published):
    """Everything that a stack of this project exports."""

    region: str
    """Of AWS."""
    cluster_name: str
    """Of the EKS cluster."""
    cluster_endpoint: str
    """What tells this cluster from another one of the same name."""
    kubeconfig: str
    """JSON text; it holds no credentials, it runs `aws eks get-token`."""
    namespace: str
    """Of the servers."""
    model_bucket: str
    """Name of the bucket with weights (`models/`), start-up caches and your data sets (`datasets/`)."""
    image_prefixes: Mapping[str, str]
    """What an image reference begins with to be pulled through the cache, by the registry that it replaces."""
    image_repositories: Mapping[str, str]
    """Repositories for images of one's own: reference without a tag, by name. To push needs rights of the pusher's."""
    gpu_pools: Mapping[str, GpuPool]
    """By name."""
    servers: Mapping[str, Server]
    """By name."""
    outputs_version: str = UNVERSIONED
    """Of these outputs."""
    account: str | None = None
    """Of AWS: cluster, bucket and images are in it."""
    model_bucket_arn: str | None = None
    """For IAM documents. In its own account, IAM alone decides who reads."""
    model_bucket_key: str | None = None
    """ARN of the KMS key that readers need `kms:Decrypt` for. None: S3's own key, which needs no right."""
    s3_addresses: Sequence[str] | None = None
    """CIDR blocks of S3 in the region, for network policies of pods that read the bucket (TCP 443). AWS adds to them;
    they are as the platform's last `up` or refresh has seen them."""


def export(values: Mapping[str, pulumi.Input[object]]) -> None:
    """Export the stack's outputs. The program's last line.

    Args:
        values: one value per field of `Platform`, by field name, but the version; inside, outputs are allowed anywhere.

    Raises:
        TypeError: a field is missing or unknown.
    """
    fields = set(Platform.model_fields) - {"outputs_version"}
    if set(values) != fields:
        raise TypeError(f"outputs differ from Platform: {sorted(set(values) ^ fields)}")
    for name, value in {**values, "outputs_version": VERSION}.items():
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
        pulumi.RunError: (when resolved) the platform's outputs are of another first number, or are missing or have
            another type: one line that names each.
    """
    names = [to_camel(name) for name in Platform.model_fields]
    values = pulumi.Output.all(**{name: stack.get_output(name) for name in names})
    return pulumi.Output.all(stack.name, values).apply(lambda known: _platform(*known))


def _platform(stack: str, values: dict[str, object]) -> Platform:
    present = {name: value for name, value in values.items() if value is not None}
    # before everything else: another version may mean something else by the same name
    _refuse_other_versions(stack, present.get(to_camel("outputs_version"), UNVERSIONED))
    try:
        return Platform.model_validate(present)
    except ValidationError as error:
        problems = [(".".join(map(str, detail["loc"])), detail) for detail in error.errors()]
        # one line: of what is raised inside an output, not every front end of the engine shows more
        said = [f"{path} is missing" if it["type"] == "missing" else f"{path}: {it['msg']}" for path, it in problems]
        raise pulumi.RunError(f"{stack} has other outputs than this program reads: {'; '.join(said)}") from None


def _refuse_other_versions(stack: str, said: object) -> None:
    if not isinstance(said, str) or not re.fullmatch(r"[0-9]+\.[0-9]+", said):
        raise pulumi.RunError(f'{stack}: outputsVersion: {json.dumps(said)}; expected a text such as "{VERSION}"')
    reads = VERSION.partition(".")[0]
    if said.partition(".")[0] != reads:
        raise pulumi.RunError(
            f"{stack} exports outputs of version {said}, and this program reads {reads}.x: it needs the outputs.py of"
            " that platform"
        )
