"""Start-up caches in places where another GPU or another right finds them."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails.pods import WORKLOADS, Container, Pod, containers, gpu_pods
from guardrails.pools import Pool, of_pod
from guardrails.rule import Around, Rule
from guardrails.value import Value

GPU_NAME = "karpenter.k8s.aws/instance-gpu-name"
CACHES = (
    *("VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE"),
    *("CUDA_CACHE_PATH", "XDG_CACHE_HOME"),
)
"""Variables that name a folder of compiled code (vLLM 0.26.0 and 0.33.0, PyTorch, Triton, FlashInfer, CUDA)."""


def _inside(path: str, folder: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _shared(pod: Pod) -> dict[str, str]:
    """Return the volumes that outlive a node, by name, with what they are."""
    found = {}
    for it in pod.spec["volumes"].items():
        claim, server = it.at("persistentVolumeClaim", "claimName").text(), it.at("nfs", "server").text()
        if claim:
            found[it["name"].text()] = f"claim {pod.account[0]}/{claim}"
        elif server:
            found[it["name"].text()] = f"nfs {server}:{it.at('nfs', 'path').text()}"
    return found


def _caches(pod: Pod) -> set[str]:
    """Return the shared volumes in which a pod keeps compiled code."""
    volumes, kept = _shared(pod), set()
    for container in pod.containers:
        folders = [folder for name in CACHES if (folder := container.env(name).text())]
        for mount in container.value["volumeMounts"].items():
            volume, path = mount["name"].text(), mount["mountPath"].text()
            if volume in volumes and any(_inside(folder, path) for folder in folders):
                kept.add(f"{volumes[volume]}, {mount['subPath'].text()}".rstrip(", "))
    return kept


def _products(pools: list[Pool]) -> set[str]:
    return {value for pool in pools for value in pool.values(GPU_NAME) or [pool.name]}


def _per_gpu(pod: Pod, around: Around) -> Iterator[str]:
    mine = _products(of_pod(pod, around.stack))
    for place in sorted(_caches(pod)):
        if len(mine) > 1:
            yield f"its cache ({place}) serves {', '.join(sorted(mine))}; one folder for each"
        for resource in around.of(*WORKLOADS):
            if resource is around.resource:
                continue
            for other in gpu_pods(resource):
                theirs = _products(of_pod(other, around.stack))
                if place in _caches(other) and theirs != mine:
                    yield (
                        f"its cache ({place}) is that of {resource.name} too, on another GPU:"
                        f" {', '.join(sorted(mine))} and {', '.join(sorted(theirs))}"
                    )


def _model(container: Container) -> str:
    """Return where a container's model lies; empty: it names none."""
    words = container.words
    if (said := container.argument("--model")) is not None:
        return said
    after = words[words.index("serve") + 1 :] if "serve" in words else words
    return next((it for it in after if it.startswith(("s3://", "/")) and "=" not in it), "") if words else ""


def _beside(container: Container, _: Around) -> Iterator[str]:
    model = _model(container)
    if not model or model == "/":
        return
    named = {name: container.env(name) for name in CACHES}
    for it in container.value["env"].items():
        name = it["name"].text()
        if "CACHE" in name.upper():
            named[name] = it["value"]
    for name, value in named.items():
        if _is_text(value) and _inside(value.text(), model):
            yield f"container {container.name}: {name} lies below the model ({model}); put it beside"
    for word in container.words:
        flag, equals, folder = word.partition("=")
        if equals and "cache" in flag.lower() and _inside(folder, model):
            yield f"container {container.name}: {flag} lies below the model ({model}); put it beside"


def _is_text(value: Value) -> bool:
    return not value.is_missing and bool(value.text())


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
        source="measured: the streamer lists the whole prefix",
        kinds=WORKLOADS,
        parts=containers,
        check=_beside,
    ),
)
