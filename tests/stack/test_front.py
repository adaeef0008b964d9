"""The front proxy and sleep as the program makes them: tokens, rights, walls, and what a user is told."""

import json
from dataclasses import replace
from typing import Any

import pulumi
import pytest

from rehearsal.providers.values import SECRET as SECRET_VALUE
from rehearsal.providers.values import SIGNATURE
from serving.front import AWAKE_LABEL
from serving.front.api_tokens import NAME
from serving.techniques import doubts
from tests.harness import Recording, record_program, stack_settings
from tests.serving.situations import provided, situation

DEPLOYMENT, SERVICE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Service"
ADMISSION = "kubernetes:admissionregistration.k8s.io/v1"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
TOKEN, NEXT = "a" * 32, "b" * 32
FORM = "expected letters, digits and -._~+/ with = at the end (RFC 6750); white space, nothing else, separates tokens"


def recorded(preset: str = "frontier", secrets: dict[str, str] | None = None, **server: Any) -> Recording:
    raw = stack_settings("dev")
    raw["servers"]["gemma"] |= {"preset": preset, **server}
    return record_program(raw, secrets=secrets or {})


def pod(recording: Recording) -> dict[str, Any]:
    return recording.one(DEPLOYMENT).inputs["spec"]["template"]  # type: ignore[no-any-return]


def container(recording: Recording, name: str) -> dict[str, Any]:
    spec = pod(recording)["spec"]
    (found,) = [it for it in [*spec["initContainers"], *spec["containers"]] if it["name"] == name]
    return found  # type: ignore[no-any-return]


def kinds(recording: Recording) -> set[str]:
    return {it.kind for it in recording.registered}


def test_tokens_reach_the_proxy_alone_and_no_output() -> None:
    found = recorded(secrets={"vllm-eks:apiTokens": f"{TOKEN}\n{NEXT}"})
    (secret,) = [it for it in found.all("kubernetes:core/v1:Secret") if it.inputs["metadata"]["name"] == NAME]
    assert secret.inputs["stringData"][SIGNATURE] == SECRET_VALUE
    ((_, text),) = [(it, text) for it, text in found.strings() if it.urn == secret.urn and TOKEN in text]
    assert text.count("\n") == 2
    holders = {registration.urn for registration, text in found.strings() if TOKEN in text}
    assert holders == {secret.urn}
    assert TOKEN not in json.dumps(found.outputs)
    mounted = [it["name"] for it in pod(found)["spec"]["initContainers"] if "front-tokens" in str(it["volumeMounts"])]
    assert mounted == ["proxy"]
    (volume,) = [it for it in pod(found)["spec"]["volumes"] if it["name"] == "front-tokens"]
    assert volume["secret"]["secretName"] == NAME


def test_without_tokens_there_is_no_secret_and_no_volume_for_one() -> None:
    found = recorded()
    assert "front-tokens" not in str(pod(found))
    assert "kubernetes:core/v1:Secret" not in kinds(found)


def test_another_token_restarts_nothing() -> None:
    one, other = (recorded(secrets={"vllm-eks:apiTokens": token}) for token in (TOKEN, f"{TOKEN} {NEXT}"))
    assert pod(one) == pod(other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("short", "token 1: 5 characters; expected 24 to 1024"),
        (f'{TOKEN} "{NEXT}"', f"token 2: {FORM}"),
        (f'["{TOKEN}", "{NEXT}"]', f"token 1: {FORM}"),
        (f"{TOKEN},{NEXT}", f"token 1: {FORM}"),
        (f"{TOKEN} {TOKEN}", "token 2: stands there twice"),
        ("  ", "no token: nobody could call the server"),
    ],
)
def test_tokens_that_no_header_can_hold_are_refused_and_never_repeated(text: str, said: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        recorded(secrets={"vllm-eks:apiTokens": text})
    assert str(refused.value) == f"the stack file has 1 mistake:\n  vllm-eks:apiTokens: {said}"


def test_a_server_behind_a_proxy_is_walled_and_one_without_is_not() -> None:
    walled = recorded()
    policy = walled.one("kubernetes:networking.k8s.io/v1:NetworkPolicy").inputs
    assert policy["spec"]["ingress"] == [{"ports": [{"port": 8000, "protocol": "TCP"}]}]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod(walled)["metadata"]["labels"].items()
    assert "kubernetes:networking.k8s.io/v1:NetworkPolicy" not in kinds(recorded(techniques=[]))


def test_VLM_10_a_sleeper_woken_from_outside_leaves_its_service_and_no_deployment() -> None:
    """A request that reaches a sleeping engine is queued, or crashes it (vllm#15483)."""
    found = recorded("step-5", techniques=[])
    labels = pod(found)["metadata"]["labels"]
    assert labels[AWAKE_LABEL] == "true"
    assert found.one(SERVICE).inputs["spec"]["selector"] == labels
    assert AWAKE_LABEL not in found.one(DEPLOYMENT).inputs["spec"]["selector"]["matchLabels"]


def test_VLM_10_flag_and_development_mode_come_together_or_not_at_all() -> None:
    for preset, sleeps in (("step-5", True), ("short-idle", True), ("frontier", False)):
        engine = container(recorded(preset, techniques=[]), "vllm")
        assert ("--enable-sleep-mode" in engine["args"]) is sleeps
        assert ("VLLM_SERVER_DEV_MODE" in {it["name"] for it in engine["env"]}) is sleeps
        assert ("--host=127.0.0.1" in engine["args"]) is sleeps


def test_step_5_is_woken_from_outside_and_short_idle_by_a_request_unless_told_otherwise() -> None:
    def wake(preset: str, **server: Any) -> str:
        (found,) = [it for it in container(recorded(preset, **server), "agent")["args"] if it.startswith("--wake=")]
        return str(found)

    assert wake("step-5") == "--wake=external"
    assert wake("short-idle") == "--wake=on-request"
    assert wake("step-5", sleep={"wake": "on-request"}) == "--wake=on-request"
    assert wake("step-5", sleep={"holdSeconds": 10}) == "--wake=external"


def test_an_agent_has_rights_only_where_it_is_woken_from_outside_and_only_narrowed_ones() -> None:
    found = recorded("step-5", techniques=[])
    (role,) = [it for it in found.all(f"{RBAC}:Role") if it.name == "gemma-agent"]
    assert role.inputs["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]}]
    narrowing = found.one(f"{ADMISSION}:ValidatingAdmissionPolicyBinding")
    assert narrowing.urn in found.needs(role.urn)
    (granted,) = [it for it in found.all(f"{RBAC}:RoleBinding") if it.name == "gemma-agent"]
    assert granted.inputs["subjects"] == [
        {"kind": "ServiceAccount", "name": pod(found)["spec"]["serviceAccountName"], "namespace": "inference"}
    ]
    policy = found.one(f"{ADMISSION}:ValidatingAdmissionPolicy").inputs["spec"]
    assert "system:serviceaccount:inference:gemma-server" in policy["matchConditions"][0]["expression"]
    assert f"{ADMISSION}:ValidatingAdmissionPolicy" not in kinds(recorded("short-idle", techniques=[]))
    assert pod(found)["spec"]["automountServiceAccountToken"] is False


def test_a_user_is_told_that_sleep_saves_no_money_and_that_nobody_asks_for_a_token() -> None:
    names = ["front-proxy", "sleep-mode"]
    about = situation(engine={"gpuMemoryUtilization": 0.85})
    east = replace(about, region="us-east-1")
    assert list(doubts(names, east, replace(provided(), tokens=None))) == [
        "front-proxy: the stack has no tokens, so every pod of the cluster may use the server: pulumi config set"
        " --secret apiTokens ...",
        "sleep-mode: a sleeping server costs what it costs awake (3.36 USD an hour on-demand on g7e.2xlarge); sleep"
        " pays when servers share a GPU, which is a later capability: until then it buys a return in a second, and"
        " idle.schedule saves the money",
    ]
    (sleeps,) = doubts(names, about, provided())
    assert "costs what it costs awake (the price of its node on g7e.2xlarge)" in sleeps
