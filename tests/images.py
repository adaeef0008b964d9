"""Every image that a program names, wherever it stands: containers, Helm values, and what nodes pull at boot."""

import email
import shlex
from collections.abc import Iterator
from typing import Any

from infra.image_cache.reference import image_reference
from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.node_boot.prepull import PROGRAM
from tests.recording import Recording

NO_CACHE = ImageCacheFacts(registry="registry.example", prefix="a-stack", upstreams=(), repositories=())
"""Every image as it stands."""

PAST_THE_CACHE = {
    "public.ecr.aws/karpenter/controller": (
        "pinned by digest, which a cold cache cannot serve: Karpenter would not start, and no node to debug on"
    ),
}
"""Repositories of cached registries that are pulled from there all the same, each with its reason."""


def images(value: Any) -> Iterator[str]:
    """Yield each reference once for every place where it stands."""
    if isinstance(value, dict):
        repository = value.get("repository")
        if isinstance(repository, str) and ("tag" in value or "digest" in value):
            yield chart_image(value)
        if isinstance(value.get("image"), str):
            yield value["image"]
        if isinstance(value.get("userData"), str):
            yield from pulled_at_boot(value["userData"])
        for item in value.values():
            yield from images(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from images(item)


def chart_image(values: dict[str, Any]) -> str:
    """As charts put an image together."""
    host = f"{values['registry']}/" if values.get("registry") else ""
    tag = f":{values['tag']}" if values.get("tag") else ""
    digest = f"@{values['digest']}" if values.get("digest") else ""
    return f"{host}{values['repository']}{tag}{digest}"


def pulled_at_boot(user_data: str) -> Iterator[str]:
    for part in email.message_from_string(user_data).walk():
        if part.get_content_type() == "text/x-shellscript":
            lines = str(part.get_payload()).replace("\\\n", " ").splitlines()
            (call,) = [line for line in lines if line.startswith("systemd-run ")]
            words = shlex.split(call)
            yield from words[words.index(PROGRAM) + 1 : words.index("||")]


def past_the_cache(recording: Recording, facts: ImageCacheFacts) -> list[tuple[str, str]]:
    """Images of registries with a rule that nodes would pull from the registry: (resource, reference)."""
    return [
        (registration.label, image)
        for registration in recording.registered
        for image in images(registration.inputs)
        if image_reference(image).registry in facts.prefixes
        and not (rewritten(image, facts) == image and name_of(image) in PAST_THE_CACHE)
    ]


def name_of(image: str) -> str:
    reference = image_reference(image)
    return f"{reference.registry}/{reference.path}"
