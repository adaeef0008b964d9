"""Which model a server serves, and where it lies."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from infra.model_bucket import MODELS
from infra.section import Decimal, Flag, Section, Whole

URI_FORM = f"s3://<bucket>/{MODELS}<name>/<revision>/"

GIB = 1024**3

AUXILIARY = "/models"
"""Where a pod sees the model's folder through Mountpoint: draft model, chat template."""

_FOLDER = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"

LONGEST_NAME = 63
"""Characters of a model's name: Jobs are named after it, as `serving/scripts/onboard/layout.py` wants it too."""

LONGEST = 512
"""Characters of a URI: an S3 key may have 1,024, and file names follow."""


@dataclass(frozen=True)
class ModelUri:
    """A model's place. One spelling: vLLM hashes the URL, so a missing slash would be another compile cache."""

    bucket: str
    prefix: str
    """Ends with a slash."""

    def __str__(self) -> str:
        """Return the one spelling."""
        return f"s3://{self.bucket}/{self.prefix}"


def _uri(value: object) -> ModelUri:
    if not isinstance(value, str):
        raise ValueError(f"expected {URI_FORM}")  # noqa: TRY004 - pydantic turns only ValueError into a line
    match = re.fullmatch(rf"s3://([a-z0-9-]{{3,63}})/({_FOLDER}(?:/{_FOLDER})*)/?", value)
    if match is None or len(value) > LONGEST:
        raise ValueError(f"expected {URI_FORM}")
    bucket, path = match.groups()
    below = f"{path}/".removeprefix(MODELS).strip("/").split("/")
    if not path.startswith(MODELS) or len(below) != len(("name", "revision")):
        raise ValueError(f"not a folder of one model below {MODELS}; expected {URI_FORM}")
    if not re.fullmatch(_LABEL, name := below[0]) or len(name) > LONGEST_NAME:
        raise ValueError(
            f"the name {name} is no lower-case DNS label of at most {LONGEST_NAME} characters; expected {URI_FORM}"
        )
    return ModelUri(bucket, f"{path}/")


class KvSettings(Section):
    """`servers.<name>.model.kv`: the shape of what the model caches of each token, as its config.json has it.

    (`text_config` there, when it takes images.) Models with latent attention (DeepSeek's) or with linear attention have
    no such shape: leave it out.
    """

    layers: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        description="a whole number of layers, 1 to 1000: num_hidden_layers in config.json"
    )
    kv_heads: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        description="a whole number of heads, 1 to 1000: num_key_value_heads in config.json"
    )
    head_dim: Annotated[Whole, Field(ge=1, le=4096)] = Field(
        description="a whole number, 1 to 4096: head_dim in config.json, or hidden_size / num_attention_heads"
    )
    sliding_layers: Annotated[Whole, Field(ge=0, le=1000)] = Field(
        default=0, description="how many of layers: layer_types calls them sliding_attention in config.json (0: none)"
    )
    sliding_window: Annotated[Whole, Field(ge=0, le=10_000_000)] = Field(
        default=0, description="a whole number of tokens that those see: sliding_window in config.json"
    )
    global_kv_heads: Annotated[Whole, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="of the layers without a window, 1 to 1000: num_global_key_value_heads (left out: as kvHeads)",
    )
    global_head_dim: Annotated[Whole, Field(ge=1, le=4096)] | None = Field(
        default=None, description="of the layers without a window, 1 to 4096: global_head_dim (left out: as headDim)"
    )

    @model_validator(mode="after")
    def _some_window(self) -> "KvSettings":
        if self.sliding_layers > self.layers:
            raise ValueError(f"slidingLayers {self.sliding_layers} > layers {self.layers}")
        if bool(self.sliding_layers) != bool(self.sliding_window):
            raise ValueError("slidingLayers and slidingWindow come together")
        return self


class ModelSettings(Section):
    """`servers.<name>.model`."""

    uri: Annotated[ModelUri, BeforeValidator(_uri)] = Field(description=URI_FORM)
    served_name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./:-]*$", max_length=100)] = Field(
        description="the model name that clients send: a letter or digit, then letters, digits and . _ / : -"
    )
    size_gib: Annotated[Decimal, Field(gt=0, le=2000)] = Field(
        description="the size of the checkpoint's safetensors in GiB, for example 30.5"
    )
    max_context: Annotated[Whole, Field(ge=256, le=10_000_000)] | None = Field(
        default=None,
        description="the model's longest context in tokens, 256 to 10000000: max_position_embeddings in config.json",
    )
    kv: KvSettings | None = Field(
        default=None, description="the shape of its KV cache, without which nobody can say whether a context fits"
    )
    auxiliary_files: Flag = Field(
        default=False, description=f"true: the engine reads files of the model's folder below {AUXILIARY} by itself"
    )

    @property
    def size(self) -> int:
        """Bytes of the checkpoint."""
        return round(self.size_gib * GIB)
