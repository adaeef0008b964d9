"""Whether each image that the servers run, and Karpenter's, is where its reference says."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infra.image_cache.reference import ImageReference, image_reference
from infra.image_cache.rewrite import ImageCacheFacts, image_cache_facts
from infra.naming import Place, partition_of
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.content.oci import Registries, Said
from ops.preflight.finding import Finding, fail, ok, unknown
from serving.server import ServerSettings
from serving.techniques import images_beside

NOT_THERE = dict.fromkeys(("RepositoryNotFoundException", "ImageNotFoundException"))


def check(asked: Asked, registries: Registries = Registries()) -> Iterator[Finding]:  # noqa: B008 - immutable
    """Ask each image's registry, and yield a finding for each image: engines, candidates, what runs beside, Karpenter.

    Without Karpenter there is no node, and its digest may be the stack file's own.
    """
    stack = asked.stack
    place = Place(partition_of(stack.region), stack.region, stack.settings.account.id)
    facts = image_cache_facts(stack.settings.image_cache, place)
    karpenter = "{repository}:{tag}@{digest}".format_map(stack.settings.karpenter.image)
    for text, whose in {**references(stack.settings.servers), karpenter: ["karpenter"]}.items():
        image = upstream(image_reference(text), facts)
        if image.registry == facts.registry:
            yield own_finding(text, whose, image, _own(asked, image))
        else:
            yield finding(text, whose, registries.has(image))


def references(servers: Mapping[str, ServerSettings]) -> Mapping[str, Sequence[str]]:
    """Return the images of the servers, as the stack file spells them, and the keys that ask for each."""
    found: dict[str, list[str]] = {}
    for name, server in servers.items():
        found.setdefault(server.engine.image_reference, []).append(f"servers.{name}.engine")
        if promoted := server.promoted:
            found.setdefault(promoted.engine.image_reference, []).append(f"servers.{name}.candidate")
        for image in images_beside(server.chosen):
            found.setdefault(image, []).append(f"servers.{name}.techniques")
    return {image: list(dict.fromkeys(keys)) for image, keys in found.items()}


def upstream(image: ImageReference, facts: ImageCacheFacts) -> ImageReference:
    """Return where an image comes from: of one that is spelled below the stack's own cache, the upstream's name.

    A cache that is cold has nothing, and gets what its upstream has.
    """
    for registry, prefix in facts.prefixes.items():
        if image.registry == facts.registry and image.path.startswith(f"{prefix}/"):
            path = image.path.removeprefix(f"{prefix}/")
            return ImageReference(registry=registry, path=path, tag=image.tag, digest=image.digest)
    return image


def finding(text: str, whose: Sequence[str], said: Said) -> Finding:
    """Return what a registry's answer means.

    Args:
        text: the image, as the stack file spells it.
        whose: keys of the stack file that ask for it.
        said: the answer.
    """
    if said.there is None:
        return unknown(text, said.detail, said.fix)
    if not said.there:
        return fail(text, said.detail, f"correct {', '.join(whose)}")
    return ok(text, said.detail or "there")


def own_finding(text: str, whose: Sequence[str], image: ImageReference, digest: str | NoAnswer | None) -> Finding:
    """Return what ECR's answer means for an image of the stack's own account; digest None: it is not there."""
    if isinstance(digest, NoAnswer):
        return digest.about(text)
    if digest is None:
        return fail(text, f"{image.registry} has no {image.path}:{_name(image)}", f"push it, or correct {whose[0]}")
    return ok(text, digest)


def _name(image: ImageReference) -> str:
    return image.digest or image.tag or "latest"


def _own(asked: Asked, image: ImageReference) -> str | NoAnswer | None:
    """Ask ECR itself: its registry talks to nobody without a token, and no token is sent from here."""
    by: dict[str, Any] = {"imageDigest": image.digest} if image.digest else {"imageTag": _name(image)}

    def ask() -> str | None:
        found = asked.aws.client("ecr").describe_images(repositoryName=image.path, imageIds=[by])["imageDetails"]
        return str(found[0]["imageDigest"]) if found else None

    return answer("ecr:DescribeImages", ask, absent=NOT_THERE)
