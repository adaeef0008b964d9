"""The agent of a server with `wake: external` before a real API server: what it may do, and that it does it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rehearsal.control_plane.client import ApiServer, Client
from rehearsal.control_plane.objects.manifest import Report
from serving.front import rights
from serving.pod import Situation
from tests.rehearsal.conftest import wait_for
from tests.rehearsal.control_plane.conftest import lines
from tests.rehearsal.control_plane.objects import made, namespace
from tests.serving.front.calls import Client as Caller
from tests.serving.front.calls import check
from tests.serving.front.pod import Pod
from tests.serving.situations import pod as rendered
from tests.serving.situations import situation, templated

SPACE, ACCOUNT = "sleepers", "gemma-server"
LABELS = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
PODS = f"/api/v1/namespaces/{SPACE}/pods"
REFUSED = (
    "pods \"gemma-0\" is forbidden: ValidatingAdmissionPolicy 'vllm-eks-agent' with binding 'vllm-eks-agent' denied"
    " request: "
)


def external(nodes: bool = True) -> Situation:
    return situation(sleep={"wake": "external"}) if nodes else situation()


def pod_template(names: list[str], about: Situation) -> dict[str, Any]:
    return templated(  # type: ignore[no-any-return]
        rendered(names, about),
        about,
        image="registry.example/vllm:1",
        priority="sleepers",
        service_account=ACCOUNT,
        labels=LABELS,
        node_selector={"pool": "x"},
    )


def standing(name: str) -> dict[str, Any]:
    made_of = pod_template(["front-proxy", "sleep-mode"], external())
    body = made("v1", "Pod", name, SPACE, spec=made_of["spec"])
    body["metadata"] |= made_of["metadata"]
    return body


@pytest.fixture(scope="module")
def place(server: ApiServer) -> ApiServer:
    """A namespace with two pods of one server, and everything that its agent has."""
    with Client(server) as client:

        def create(path: str, body: dict[str, Any]) -> None:
            answer = client.create(path, body, fieldValidation="Strict")
            assert answer.ok, answer.message
            assert answer.warnings == ()

        create("/api/v1/namespaces", namespace(SPACE))
        create(f"/api/v1/namespaces/{SPACE}/serviceaccounts", made("v1", "ServiceAccount", ACCOUNT, SPACE))
        create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            made("scheduling.k8s.io/v1", "PriorityClass", "sleepers", value=1),
        )
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SPACE}"
        create(f"{rbac}/roles", rights.role("gemma-agent", SPACE, LABELS))
        create(f"{rbac}/rolebindings", rights.role_binding("gemma-agent", SPACE, LABELS, ACCOUNT))
        admission = "/apis/admissionregistration.k8s.io/v1"
        create(f"{admission}/validatingadmissionpolicies", rights.policy(SPACE, [ACCOUNT]))
        create(f"{admission}/validatingadmissionpolicybindings", rights.policy_binding(SPACE))
        create(
            f"/apis/networking.k8s.io/v1/namespaces/{SPACE}/networkpolicies",
            rights.network_policy("gemma", SPACE, LABELS),
        )
        for name in ("gemma-0", "gemma-1"):
            create(PODS, standing(name))
        written = client.get(f"{admission}/validatingadmissionpolicies/vllm-eks-agent").body
        assert "typeChecking" not in written.get("status", {})
    return server


def token(server: ApiServer, pod: str | None) -> str:
    with Client(server) as client:
        spec: dict[str, Any] = {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 3600}
        if pod:
            uid = client.get(f"{PODS}/{pod}").body["metadata"]["uid"]
            spec["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", "name": pod, "uid": uid}
        path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/{ACCOUNT}/token"
        answer = client.create(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        assert answer.ok, answer.message
        return answer.body["status"]["token"]


@pytest.fixture(scope="module")
def agent(place: ApiServer) -> Iterator[Client]:
    """The API as the agent in gemma-0 sees it, with the policy in force."""
    with Client(replace(place, token=token(place, "gemma-0"))) as client:
        # the API server takes a moment to read a new policy, which lets what changes nothing pass
        numbers = map(str, itertools.count())
        wait_for(lambda: not client.merge(f"{PODS}/gemma-0", {"metadata": {"labels": {"x": next(numbers)}}}).ok)
    with Client(place) as client:
        assert client.merge(f"{PODS}/gemma-0", {"metadata": {"labels": {"x": None}}}).ok
    with Client(replace(place, token=token(place, "gemma-0"))) as client:
        yield client


def labels(value: str | None) -> dict[str, Any]:
    return {"metadata": {"labels": {"awake": value}}}


def test_its_own_label_is_taken_away_and_given_back(agent: Client) -> None:
    for _ in range(2):
        without = agent.merge(f"{PODS}/gemma-0", labels(None))
        assert without.ok, without.message
        assert without.body["metadata"]["labels"] == LABELS
        back = agent.merge(f"{PODS}/gemma-0", labels("true"))
        assert back.ok, back.message
        assert back.body["metadata"]["labels"] == {**LABELS, "awake": "true"}


OTHER_LABEL = "an agent sets the label awake to true or removes it, and changes no other label"
METADATA = "an agent changes nothing of its pod's metadata but the label awake"
SPEC = "an agent changes nothing of its pod's spec"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metadata": {"labels": {"app.kubernetes.io/instance": "other"}}}, OTHER_LABEL),
        ({"metadata": {"labels": {"app.kubernetes.io/instance": None}}}, OTHER_LABEL),
        ({"metadata": {"labels": {"new": "true"}}}, OTHER_LABEL),
        ({"metadata": {"labels": {"awake": None, "new": "true"}}}, OTHER_LABEL),
        ({"metadata": {"labels": {"awake": "perhaps"}}}, OTHER_LABEL),
        ({"metadata": {"labels": None}}, OTHER_LABEL),
        ({"metadata": {"annotations": {"vllm-eks/wanted": "awake"}}}, METADATA),
        ({"metadata": {"annotations": None}}, METADATA),
        ({"metadata": {"finalizers": ["example.com/stays"]}}, METADATA),
        ({"spec": {"activeDeadlineSeconds": 1}}, SPEC),
        ({"spec": {"terminationGracePeriodSeconds": 1}}, None),  # the API server itself
    ],
    ids=str,
)
def test_whatever_else_it_changes_of_its_pod_is_refused(
    agent: Client, change: dict[str, Any], said: str | None
) -> None:
    answer = agent.merge(f"{PODS}/gemma-0", change)
    assert not answer.ok
    if said:
        assert answer.message == f"{REFUSED}{said}"


def test_another_pod_and_everything_else_is_refused(agent: Client, place: ApiServer) -> None:
    other = agent.merge(f"{PODS}/gemma-1", labels(None))
    assert other.message == (
        f"{REFUSED}an agent changes the pod that it runs in, and no other one".replace("gemma-0", "gemma-1")
    )
    assert agent.get(f"{PODS}/gemma-0").ok
    for path in (PODS, f"/api/v1/namespaces/{SPACE}/secrets", "/api/v1/namespaces/kube-system/pods/x"):
        assert agent.get(path).status == 403, path
    for path in (f"{PODS}/gemma-0/status", f"{PODS}/gemma-0/ephemeralcontainers"):
        assert agent.merge(path, labels(None)).status == 403, path
    with Client(replace(place, token=token(place, None))) as unbound:
        assert unbound.merge(f"{PODS}/gemma-0", labels(None)).message == (
            f"{REFUSED}an agent changes the pod that it runs in, and no other one"
        )


def test_who_is_no_agent_is_not_asked(place: ApiServer, agent: Client) -> None:
    with Client(place) as client:
        answer = client.merge(f"{PODS}/gemma-1", {"metadata": {"labels": {"by": "admin"}}})
        assert answer.ok, answer.message


def test_the_agent_follows_the_annotation_and_says_so_with_the_label(
    place: ApiServer, agent: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(token(place, "gemma-0"))
    (tmp_path / "ca.crt").write_bytes(place.ca.read_bytes())
    server = Pod(hold=1)
    arguments = [f"--api={place.url.removeprefix('https://')}", f"--credentials={tmp_path}", "--label=awake"]

    def has_label() -> bool:
        return "awake" in agent.get(f"{PODS}/gemma-0").body["metadata"]["labels"]

    def want(state: str) -> None:
        with Client(place) as client:
            assert client.merge(f"{PODS}/gemma-0", {"metadata": {"annotations": {"vllm-eks/wanted": state}}}).ok

    try:
        server.start_engine()
        environment = {"POD_NAME": "gemma-0", "POD_NAMESPACE": SPACE}
        server.start_agent("--wake=external", "--annotation=vllm-eks/wanted", *arguments, **environment)
        server.start_nginx()
        wait_for(lambda: server.get("/ready")[0] == 200)
        client = Caller(server)
        for _ in range(2):
            assert client.plain().complete
            stream = client.stream(tokens=10, seconds=0.1)
            want("asleep")
            wait_for(lambda: server.state == "asleep")
            assert stream.join().complete
            assert not has_label()
            assert server.get("/ready")[0] == 200, "a sleeper that is not ready holds up every later rollout"
            assert client.plain().refused, "no request wakes it"
            assert server.state == "asleep"
            want("awake")
            wait_for(lambda: server.state == "awake" and has_label())
        want("tired")
        wait_for(lambda: "annotation vllm-eks/wanted: 'tired' is no state" in server.log.read_text())
        assert server.state == "awake"
        check(server, client.calls)

    finally:
        server.close()


@pytest.mark.parametrize("sleep", [{"wake": "external"}, {"wake": "on-request"}], ids=lambda it: it["wake"])
@pytest.mark.parametrize(
    "names",
    [
        ["front-proxy"],
        ["front-proxy", "node-cache"],
        ["front-proxy", "sleep-mode"],
        ["front-proxy", "node-cache", "bytecode-cache", "sleep-mode"],
    ],
    ids=" ".join,
)
def test_a_pod_with_its_sidecars_is_admitted(
    ask: Callable[..., Report], place: ApiServer, names: list[str], sleep: dict[str, Any]
) -> None:
    made_of = pod_template(names, situation(sleep=sleep))
    deployment = {"selector": {"matchLabels": LABELS}, "template": made_of}
    report = ask(
        made("apps/v1", "Deployment", "gemma", SPACE, spec=deployment),
        rights.network_policy("gemma", SPACE, LABELS),
    )
    assert lines(report) == []
    assert [warning for it in report.admitted for warning in it.warnings] == []
