import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.start_up.shapes import BARE, CRON_JOB, container, deployment, env, pod

ENOUGH = {"periodSeconds": 5.0, "failureThreshold": 121.0}
LIMIT = "VLLM_ENGINE_READY_TIMEOUT_S"
LWS = "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet"
CONTAINERS = "spec.template.spec.containers"


def of(*containers, **given):
    return found("startup-probe", deployment(pod(*containers), **given))


@pytest.mark.parametrize(
    "probes",
    [
        {},
        {"startupProbe": ENOUGH},
        {"startupProbe": ENOUGH, "livenessProbe": {}},
        {"startupProbe": {"initialDelaySeconds": 580, "periodSeconds": 0, "failureThreshold": 3}},
        # it bears with the engine by itself
        {"livenessProbe": {"initialDelaySeconds": 600}},
    ],
)
def test_an_engine_with_its_time_passes(probes):
    assert of(container(**probes)) == []


@pytest.mark.parametrize(
    ("probe", "seconds", "threshold"),
    [({}, 20, 61), ({"periodSeconds": 5, "failureThreshold": 120}, 595, 121), ({"initialDelaySeconds": 30}, 50, 58)],
)
def test_a_startup_probe_gives_up_at_its_last_question(probe, seconds, threshold):
    assert of(container(startupProbe=probe)) == [
        f"container vllm: its startupProbe gives up after {seconds} s, the engine after 600 s ({LIMIT});"
        f" raise failureThreshold to {threshold}"
    ]
    assert of(container(startupProbe={**probe, "failureThreshold": threshold})) == []


def test_liveness_alone_kills_a_cold_start():
    hand_made = {"initialDelaySeconds": 30, "periodSeconds": 10, "failureThreshold": 3}
    assert of(container(livenessProbe=hand_made, startupProbe=None)) == [
        "container vllm: its livenessProbe kills it after 50 s and no startupProbe holds that back;"
        f" add a startupProbe that bears 600 s ({LIMIT})"
    ]


def test_the_limit_is_the_engine_s_own():
    assert of(container(startupProbe=ENOUGH, env=env(**{LIMIT: "1800"}))) == [
        f"container vllm: its startupProbe gives up after 600 s, the engine after 1800 s ({LIMIT});"
        " raise failureThreshold to 361"
    ]
    # of two the last one holds
    assert of(container(startupProbe=ENOUGH, env=[*env(**{LIMIT: "1800"}), *env(**{LIMIT: "60"})])) == []
    for text in ("30m", "²", "-1", "9" * 400):
        assert of(container(startupProbe=ENOUGH, env=env(**{LIMIT: text}))) == [
            f"{CONTAINERS}[0].env[0].value: {LIMIT} is {text!r}; write whole seconds, such as 1800"
        ]


def test_another_engine_s_limit_is_configured():
    server = deployment(pod(container(startupProbe={"failureThreshold": 13})))
    assert found("startup-probe", server, config={"seconds": 120}) == []
    assert found("startup-probe", server, config={"seconds": 121}) == [
        f"container vllm: its startupProbe gives up after 120 s, the engine after 121 s ({LIMIT});"
        " raise failureThreshold to 14"
    ]


def test_containers_without_a_gpu_are_not_engines():
    web = {"name": "web", "livenessProbe": {}}
    assert of(web) == []
    assert found("startup-probe", deployment(pod(web, initContainers=[container("s", livenessProbe={})]))) != []


def test_the_pod_of_every_kind_of_workload_is_found():
    engine = {"containers": [container(livenessProbe={})]}
    bare = resource(BARE, {"spec": engine})
    cron = resource(CRON_JOB, {"spec": {"jobTemplate": {"spec": {"template": {"spec": engine}}}}})
    assert len(found("startup-probe", bare)) == 1
    assert len(found("startup-probe", cron)) == 1
    both = {"leaderTemplate": {"spec": engine}, "workerTemplate": {"spec": engine}}
    assert len(found("startup-probe", resource(LWS, {"spec": {"leaderWorkerTemplate": both}}))) == 2


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"startupProbe": UNKNOWN}, "startupProbe"),
        ({"startupProbe": {"failureThreshold": UNKNOWN}}, "startupProbe.failureThreshold"),
        ({"startupProbe": ENOUGH, "env": UNKNOWN}, "env"),
        ({"resources": UNKNOWN}, "resources"),
        ({"resources": {"limits": {"nvidia.com/gpu": UNKNOWN}}}, "resources.limits.nvidia.com/gpu"),
    ],
)
def test_what_is_not_known_of_one_container_hides_no_other(given, path):
    server = deployment(pod(container("a", **given), container("b", livenessProbe={})))
    assert unchecked("startup-probe", server) == [f"{CONTAINERS}[0].{path}"]
    assert [it.partition(":")[0] for it in found("startup-probe", server)] == ["container b"]


def test_containers_are_seen_where_those_that_run_first_are_not_known():
    server = deployment(pod(container(livenessProbe={}), initContainers=UNKNOWN))
    assert unchecked("startup-probe", server) == ["spec.template.spec.initContainers"]
    assert len(found("startup-probe", server)) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startupProbe": "x"}, f"{CONTAINERS}[0].startupProbe: expected a mapping, found a text"),
        (
            {"startupProbe": {"periodSeconds": "5"}},
            f"{CONTAINERS}[0].startupProbe.periodSeconds: expected a number, found a text",
        ),
        (
            {"startupProbe": {"periodSeconds": 1e-320}},
            f"{CONTAINERS}[0].startupProbe.periodSeconds: expected a whole number, found 9.99989e-321",
        ),
        ({"startupProbe": ENOUGH, "env": "x"}, f"{CONTAINERS}[0].env: expected a list, found a text"),
        (
            {"startupProbe": ENOUGH, "env": env(**{LIMIT: 600})},
            f"{CONTAINERS}[0].env[0].value: expected a text, found a number",
        ),
        ({"resources": True}, f"{CONTAINERS}[0].resources: expected a mapping, found true or false"),
    ],
)
def test_wrong_types_are_named_by_their_path(given, said):
    assert of(container(**given)) == [said]


def test_service_links_are_on_where_nobody_turns_them_off():
    said = ["enableServiceLinks is true, also where it is left out; set it to false"]
    for given in ({}, {"enableServiceLinks": None}, {"enableServiceLinks": True}):
        assert found("service-links", deployment(pod(**given))) == said
    assert found("service-links", deployment(pod(enableServiceLinks=False))) == []
    assert found("service-links", deployment({"containers": [{"name": "web"}]})) == []
    assert found("service-links", resource(BARE, {"spec": {"containers": [container()]}})) == said


def test_service_links_that_cannot_be_read():
    path = "spec.template.spec"
    assert unchecked("service-links", deployment(pod(enableServiceLinks=UNKNOWN))) == [f"{path}.enableServiceLinks"]
    assert unchecked("service-links", deployment(UNKNOWN)) == [path]
    assert found("service-links", deployment(pod(enableServiceLinks="false"))) == [
        f"{path}.enableServiceLinks: expected true or false, found a text"
    ]
    assert found("service-links", deployment({"containers": "vllm"})) == [
        f"{path}.containers: expected a list, found a text"
    ]
    assert found("service-links", deployment({"containers": ["vllm"]})) == [
        f"{path}.containers[0]: expected a mapping, found a text"
    ]
