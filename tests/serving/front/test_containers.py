"""The pod behind a front proxy: who listens where, who asks whom, who runs as whom."""

import copy
from typing import Any

import pytest

from engine_client import PATIENCE
from serving.cache_key.server import keyed
from serving.engine import PORT
from serving.front import CONTROL_PORT, ENGINE_PORT, GATE_PORT, USER, VERDICT
from serving.front.containers import PROGRAMS_FOLDER
from serving.pod.probes import READY_SECONDS
from serving.programs import PROXY, START, files
from terms import Limits
from tests.serving.situations import pod, situation, templated

ALONE = ["front-proxy"]
SLEEPS = ["front-proxy", "sleep-mode"]
CACHED = ["front-proxy", "node-cache", "sleep-mode"]


def spec(names: list[str], **sleep: Any) -> dict[str, Any]:
    about = situation(sleep=sleep)
    made = templated(pod(names, about), about, image="vllm:1", service_account="gemma")
    return {**made["spec"], "metadata": made["metadata"]}


def container(names: list[str], name: str, **sleep: Any) -> dict[str, Any]:
    of = spec(names, **sleep)
    (found,) = [it for it in [*of["containers"], *of.get("initContainers", [])] if it["name"] == name]
    return found


@pytest.mark.parametrize("names", [ALONE, SLEEPS, CACHED], ids=" ".join)
def test_the_engine_listens_on_loopback_and_the_proxy_has_the_port_of_the_service(names: list[str]) -> None:
    engine, proxy = container(names, "vllm"), container(names, "proxy")
    assert "--host=127.0.0.1" in engine["args"]
    assert f"--port={ENGINE_PORT}" in engine["args"]
    assert "ports" not in engine
    assert proxy["ports"] == [{"name": "http", "containerPort": PORT, "protocol": "TCP"}]
    assert len({PORT, ENGINE_PORT, GATE_PORT, CONTROL_PORT}) == 4


@pytest.mark.parametrize("names", [ALONE, SLEEPS, CACHED], ids=" ".join)
def test_VLM_02_the_engine_s_probes_are_on_loopback_and_the_pod_is_ready_through_the_proxy(names: list[str]) -> None:
    """A fault of proxy or agent must never restart an engine that took minutes to start."""
    engine, proxy = container(names, "vllm"), container(names, "proxy")
    assert "readinessProbe" not in engine
    for kind in ("startupProbe", "livenessProbe"):
        command = engine[kind]["exec"]["command"]
        assert str(ENGINE_PORT) in command
    assert (VERDICT in engine["livenessProbe"]["exec"]["command"]) == ("sleep-mode" in names)
    assert VERDICT not in engine["startupProbe"]["exec"]["command"]
    assert ("ready.py" in engine["startupProbe"]["exec"]["command"][3]) == ("node-cache" in names)
    path = "/ready" if "sleep-mode" in names else "/health"
    assert proxy["readinessProbe"]["httpGet"] == {"path": path, "port": "http"}


def patience(probe: dict[str, Any]) -> tuple[int, int]:
    """Return the least seconds for which a probe bears with who does not answer, and with who says no at once."""
    questions = probe["failureThreshold"] - 1
    return questions * max(probe["periodSeconds"], probe["timeoutSeconds"]), questions * probe["periodSeconds"]


def test_VLM_02_readiness_bears_with_a_hung_engine_as_long_with_an_agent_as_without_and_liveness_longer() -> None:
    alone, agent = container(ALONE, "proxy"), container(SLEEPS, "agent")
    assert f"--silent={READY_SECONDS}" in agent["args"]
    usual = Limits(on_request=True, silent=READY_SECONDS)
    # the first look that fails ends this much after the last answer, and the last one starts as late
    looks = 2 * (usual.poll + max(PATIENCE["health"], PATIENCE["count"], PATIENCE["ask"]))
    said = patience(container(SLEEPS, "proxy")["readinessProbe"])[1] + 1
    without = patience(alone["readinessProbe"])[0] + 2
    assert without == READY_SECONDS
    for names in (ALONE, SLEEPS):
        assert READY_SECONDS + looks + said < patience(container(names, "vllm")["livenessProbe"])[0]


@pytest.mark.parametrize("names", [ALONE, SLEEPS], ids=" ".join)
def test_a_sidecar_s_startup_probe_asks_only_about_itself(names: list[str]) -> None:
    """The engine starts after it."""
    for sidecar in spec(names)["initContainers"]:
        assert sidecar["restartPolicy"] == "Always"
        asked = str(sidecar["startupProbe"])
        assert "front/alive" in asked or "agent_alive" in asked
        assert "/health" not in asked
        assert "/ready" not in asked


@pytest.mark.parametrize("names", [ALONE, SLEEPS], ids=" ".join)
def test_sidecars_are_confined_see_no_gpu_and_have_no_cpu_limit(names: list[str]) -> None:
    for sidecar in spec(names)["initContainers"]:
        context = sidecar["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "nvidia.com/gpu" not in str(sidecar["resources"])
        assert "cpu" not in sidecar["resources"]["limits"]
    assert container(names, "proxy")["securityContext"]["runAsUser"] == USER


def test_the_agent_runs_on_the_engine_s_image_without_its_gpu() -> None:
    agent = container(SLEEPS, "agent")
    assert agent["image"] == "vllm:1"
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in agent["env"]
    assert container(SLEEPS, "proxy")["image"] == "registry.example/nginx:1"


@pytest.mark.parametrize("wake", ["on-request", "external"])
def test_every_mount_has_its_volume_and_every_volume_somebody_who_mounts_it(wake: str) -> None:
    for names in (ALONE, SLEEPS, CACHED):
        of = spec(names, wake=wake)
        volumes = {it["name"] for it in of["volumes"]}
        mounts = {mount["name"] for it in [*of["containers"], *of["initContainers"]] for mount in it["volumeMounts"]}
        assert mounts == volumes


def test_VLM_10_flag_and_development_mode_come_together_or_not_at_all() -> None:
    for names, both in ((ALONE, False), (SLEEPS, True)):
        engine = container(names, "vllm")
        assert ("--enable-sleep-mode" in engine["args"]) is both
        assert ({"name": "VLLM_SERVER_DEV_MODE", "value": "1"} in engine["env"]) is both


def test_VLM_10_with_external_a_sleeper_lacks_the_label_that_services_select() -> None:
    about = situation(sleep={"wake": "external"})
    assert pod(SLEEPS, about).selected == pod(SLEEPS, about).labels == {"awake": "true"}
    assert spec(SLEEPS, wake="external")["metadata"]["labels"] == {"app": "x", "awake": "true"}
    assert pod(SLEEPS).selected == {}, "on-request: a sleeper wakes for whoever comes"


def test_the_token_of_the_cluster_is_the_agent_s_alone_and_only_with_external() -> None:
    of = spec(SLEEPS, wake="external")
    assert of["automountServiceAccountToken"] is False
    holders = [
        it["name"] for it in [*of["containers"], *of["initContainers"]] if "agent-token" in str(it["volumeMounts"])
    ]
    assert holders == ["agent"]
    assert "agent-token" not in str(spec(SLEEPS))


def test_the_tokens_of_clients_are_the_proxy_s_alone() -> None:
    of = spec(SLEEPS)
    holders = [
        it["name"] for it in [*of["containers"], *of["initContainers"]] if "front-tokens" in str(it["volumeMounts"])
    ]
    assert holders == ["proxy"]


def test_preStop_tells_the_agent_and_waits_for_the_drain() -> None:
    hook = container(SLEEPS, "vllm")["lifecycle"]["preStop"]
    drain = situation().shutdown.drain_seconds
    stop = f"{PROGRAMS_FOLDER}/agent_stop.py"
    assert hook == {"exec": {"command": ["python3", "-S", "-B", stop, str(CONTROL_PORT), str(drain)]}}
    assert container(ALONE, "vllm")["lifecycle"]["preStop"] == {"sleep": {"seconds": drain}}


def test_a_server_without_a_proxy_has_nothing_of_what_runs_behind_one() -> None:
    """Else it would restart because the agent has changed."""
    shared = {"health.py", "between.py", "usage.py"}
    assert files(*PROXY).keys() & files(*START).keys() <= shared


def test_the_proxy_needs_no_other_cache_and_sleeping_does() -> None:
    """Host and port are neutral, --enable-sleep-mode is in vLLM's key (gpu.md 5)."""
    bare, fronted, sleeping = (keyed(situation(), names) for names in ([], ALONE, SLEEPS))
    neutral = {"host", "port"}
    assert {n: v for n, v in bare.flags.items() if n not in neutral} == {
        n: v for n, v in fronted.flags.items() if n not in neutral
    }
    assert bare.env == fronted.env
    assert sleeping.flags["enable-sleep-mode"] is True


def test_rendering_leaves_nothing_behind() -> None:
    once = copy.deepcopy(spec(CACHED))
    assert spec(CACHED) == once
