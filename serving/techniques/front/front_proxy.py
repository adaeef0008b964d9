"""front-proxy: nginx in front of the engine, which listens on loopback.

It is the first of all techniques: those after it ask the engine where this one has put it.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from serving import front
from serving.front import containers
from serving.front.nginx import nginx_conf
from serving.pod import Pod, Situation
from serving.techniques.technique import Provided, Technique

ENTRY = Path(front.__file__).with_name("entry.sh")


def proxied(pod: Pod, situation: Situation, provided: Provided, *, sleeps: bool) -> Pod:
    """Return the pod with nginx in front, and the agent behind it where the server sleeps."""
    tokens = provided.tokens is not None
    hold = situation.sleep.hold_seconds if sleeps else 0
    conf = nginx_conf(containers.addresses(sleeps=sleeps, tokens=tokens), situation.front, hold)
    return replace(
        pod,
        flags={**pod.flags, "host": front.LOOPBACK, "port": front.ENGINE_PORT},
        volumes={
            **pod.volumes,
            **containers.volumes(provided.front_programs, provided.tokens, situation.sleep if sleeps else None),
        },
        mounts={**pod.mounts, **containers.engine_mounts(sleeps=sleeps)},
        files={**pod.files, containers.CONFIG: {"nginx.conf": conf, "entry.sh": ENTRY.read_text(encoding="utf-8")}},
        sidecars={
            **({containers.AGENT: containers.agent_container(situation.sleep)} if sleeps else {}),
            **pod.sidecars,
            containers.PROXY: containers.proxy_container(provided.proxy_image, sleeps=sleeps, tokens=tokens),
        },
        serving=None,
        walled=True,
        alive=containers.engine_alive(sleeps=sleeps),
    )


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    return replace(proxied(pod, situation, provided, sleeps=False), started=containers.engine_alive(sleeps=False))


def _doubts(_situation: Situation, provided: Provided) -> Iterator[str]:
    if provided.tokens is None:
        yield (
            "the stack has no tokens, so every pod of the cluster may use the server: pulumi config set --secret"
            " apiTokens ..."
        )


FRONT_PROXY = Technique(
    name="front-proxy",
    # it saves no seconds: with a key of its own vLLM leaves most of its paths open (gpu.md 0.8)
    effects=(),
    images=(front.IMAGE,),
    sidecars_take=(containers.PROXY_CPU, containers.PROXY_MEMORY),
    doubts=_doubts,
    apply=_apply,
)
