"""Start-up caches in places where another GPU or another right finds them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from guardrails.later import Later
from guardrails.pods import WORKLOADS, Container, Pod, containers, gpu_pods
from guardrails.rule import Around, Rule
from guardrails.start_up.instances import kinds
from guardrails.start_up.places import places

CACHES = {
    "VLLM_CACHE_ROOT": "{xdg}/vllm",
    "FLASHINFER_WORKSPACE_BASE": "{home}/.cache/flashinfer",
    "TRITON_CACHE_DIR": "{home}/.triton",
    "CUDA_CACHE_PATH": "{home}/.nv",
    "TORCHINDUCTOR_CACHE_DIR": "",
    "FLASH_ATTENTION_CUTE_DSL_CACHE_DIR": "",
}
"""Variables that name a folder of compiled code, with the folder where they are not set (vLLM 0.26.0 and 0.33.0,
FlashInfer, Triton, CUDA); empty: on the node's own disk, or none."""
WEIGHTS = frozenset({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "HF_DATASETS_CACHE"})
"""Variables of caches that hold models, not compiled code."""


@dataclass(frozen=True, order=True)
class Place:
    """A folder on a volume that outlives nodes."""

    volume: str
    folder: str

    def __str__(self) -> str:
        return f"{self.volume}, {self.folder}" if self.folder else self.volume

    def meets(self, other: Place) -> bool:
        """Return whether one of two places lies in the other."""
        return self.volume == other.volume and (
            _inside(self.folder, other.folder) or _inside(other.folder, self.folder)
        )


def _inside(path: str, folder: str) -> bool:
    return not folder.strip("/") or f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _shared(pod: Pod, later: Later) -> dict[str, str]:
    """Return the volumes that outlive a node, by name, with what they are."""
    found = {}
    for it in pod.of.props.at("spec", "volumeClaimTemplates").items():
        with later:
            name = it.at("metadata", "name").text()
            found[name] = f"claims {_namespace(pod)}/{name} of {pod.of.name}"
    for it in pod.spec["volumes"].items():
        with later:
            claim, server = it.at("persistentVolumeClaim", "claimName").text(), it.at("nfs", "server").text()
            if claim:
                found[it["name"].text()] = f"claim {_namespace(pod)}/{claim}"
            elif server:
                found[it["name"].text()] = f"nfs {server}:{it.at('nfs', 'path').text()}"
    return found


def _namespace(pod: Pod) -> str:
    return pod.of.props.at("metadata", "namespace").text() or "default"


def _folders(container: Container, later: Later) -> set[str]:
    """Return where a container keeps compiled code; what only its start decides is left out."""
    home = container.env("HOME").text() or "/root"
    xdg = container.env("XDG_CACHE_HOME").text() or f"{home}/.cache"
    found = set()
    for name, default in CACHES.items():
        with later:
            found.add(container.env(name).text() or default.format(home=home, xdg=xdg))
    return {posixpath.normpath(it) for it in found if it.startswith("/") and "$(" not in it}


def _caches(pod: Pod, later: Later) -> set[Place]:
    """Return the shared folders in which a pod keeps compiled code."""
    volumes, kept = _shared(pod, later), set()
    for container in pod.containers:
        with later:
            if not volumes or not container.gpus:
                continue
            mounts = {
                posixpath.normpath(it["mountPath"].text() or "/"): it for it in container.value["volumeMounts"].items()
            }
            for folder in _folders(container, later):
                # the deepest mount is the one that holds it
                path = max((it for it in mounts if _inside(folder, it)), key=len, default="")
                mount = mounts.get(path)
                if mount and (volume := volumes.get(mount["name"].text())):
                    below = mount["subPathExpr"].text() or mount["subPath"].text()
                    if "$(" not in below:
                        kept.add(Place(volume, posixpath.normpath(f"/{below}/{folder[len(path) :]}").strip("/")))
    return {it for it in kept if not any(it != other and it.meets(other) and other < it for other in kept)}


def _products(pod: Pod, around: Around) -> frozenset[str]:
    found = places(pod, around.stack, kinds({}))
    return frozenset(product for it in found for product in it.products)


def _per_gpu(pod: Pod, around: Around) -> Iterator[str]:
    later = Later()
    kept = sorted(_caches(pod, later))
    if not kept:
        yield from later.rest()
        return
    mine = _products(pod, around)
    if len(mine) > 1:
        for place in kept:
            yield (
                f"its start-up cache ({place}) serves {_and(mine)};"
                " bind the pod to one product, or give each a folder of its own"
            )
    # what is unknown of the others is said where they are looked at
    others = Later()
    for resource in around.of(*WORKLOADS):
        with others:
            for other in () if resource is around.resource else gpu_pods(resource):
                met = [it for it in _caches(other, others) if any(it.meets(each) for each in kept)]
                theirs = _products(other, around) if met else mine
                if mine and theirs and theirs != mine:
                    yield (
                        f"its start-up cache ({min(met)}) is that of {resource.name} too, on another GPU: {_and(mine)}"
                        f" here, {_and(theirs)} there; give each product a folder of its own"
                    )
    yield from later.rest()


def _and(names: frozenset[str]) -> str:
    return " and ".join(sorted(names))


_REMOTE = ("s3://", "gs://", "az://")


def _model(container: Container) -> str:
    """Return where a container's model lies; empty: it names no folder.

    It is named by its flag, behind `serve`, or first where the image itself says `vllm serve`.
    """
    words = container.words
    said = container.argument("--model") or ""
    if not said and "serve" in words:
        said = next(iter(words[words.index("serve") + 1 :]), "")
    elif not said and container.value["command"].is_missing:
        said = next(iter(words), "")
    return said.rstrip("/") if said.startswith(("/", *_REMOTE)) else ""


def _beside(container: Container, _: Around) -> Iterator[str]:
    model = _model(container)
    if not model:
        return
    later = Later()
    for it in container.value["env"].items():
        with later:
            name = it["name"].text()
            if (
                ("CACHE" in name.upper() or name in CACHES)
                and name not in WEIGHTS
                and _under(it["value"].text(), model)
            ):
                yield _said(container, name, it["value"].text(), model)
    words = container.words
    for place, word in enumerate(words):
        flag, equals, folder = word.partition("=")
        if not equals:
            folder = words[place + 1] if place + 1 < len(words) else ""
        if flag.startswith("-") and "cache" in flag.lower() and _under(folder, model):
            yield _said(container, flag, folder, model)
    yield from later.rest()


def _under(folder: str, model: str) -> bool:
    return folder.startswith(("/", *_REMOTE)) and _inside(folder, model)


def _said(container: Container, name: str, folder: str, model: str) -> str:
    return f"container {container.name}: {name} ({folder}) lies below the model ({model}); put it beside"


RULES = (
    Rule(
        id="cache-per-gpu",
        says="GPUs of different products share no start-up cache.",
        why="Code compiled for one crashes on the other, or is thrown away and compiled again at each start.",
        source="club-3090#572, vllm#53366",
        kinds=WORKLOADS,
        parts=gpu_pods,
        check=_per_gpu,
        over="stack",
    ),
    Rule(
        id="cache-beside-model",
        says="A start-up cache lies outside the model's folder.",
        why="Whoever may write the cache may then write weights, and a listing of the model finds the cache.",
        source="measured: the streamer lists the whole prefix; judgement on the right to write",
        kinds=WORKLOADS,
        parts=containers,
        check=_beside,
    ),
)
