"""Every image of the program goes through the cache, or stands on a list with its reason."""

from typing import Any

import pytest

from infra.image_cache.rewrite import ImageCacheFacts, image_cache_facts, rewritten
from infra.image_cache.settings import ImageCacheSettings
from infra.naming import Place, partition_of
from infra.node_boot import NodeBoot, user_data
from tests.harness import REGION, Recording, document, record_program, stack_settings
from tests.images import PAST_THE_CACHE, images, past_the_cache
from tests.recording import Registration

KEY = "vllm-eks:dockerHubCredentials"
DIGEST = f"sha256:{'0a' * 32}"


def facts(raw: dict[str, Any]) -> ImageCacheFacts:
    settings = ImageCacheSettings.model_validate(raw["imageCache"])
    return image_cache_facts(settings, Place(partition_of(REGION), REGION, raw["account"]["id"]))


@pytest.fixture(params=[(), ("docker-hub",), ("docker-hub", "ghcr")], ids=lambda more: "+".join(more) or "anonymous")
def raw(request: pytest.FixtureRequest) -> dict[str, Any]:
    raw = stack_settings("dev")
    raw["imageCache"]["upstreams"] = ["ecr-public", "quay", "k8s", *request.param]
    for pool in raw["gpuPools"].values():  # everything that names an image
        pool.update(warmNodes=1, updateWindow="never")
    raw["servers"]["gemma"]["preset"] = "step-4"
    return raw


def recorded(raw: dict[str, Any]) -> Recording:
    keys = (KEY, "vllm-eks:ghcrCredentials")
    return record_program(raw, secrets=dict.fromkeys(keys, '{"username": "somebody", "accessToken": "EXAMPLE"}'))


def test_no_image_of_the_program_is_pulled_past_the_cache(raw: dict[str, Any]) -> None:
    recording = recorded(raw)
    assert [image for r in recording.registered for image in images(r.inputs)], "no image found: nothing was proved"
    assert past_the_cache(recording, facts(raw)) == []


def test_ECR_04_the_pod_names_the_image_as_nodes_pull_it(raw: dict[str, Any]) -> None:
    engine = raw["servers"]["gemma"]["engine"]
    (container,) = (
        recorded(raw).one("kubernetes:apps/v1:Deployment", "gemma").inputs["spec"]["template"]["spec"]["containers"]
    )
    assert container["image"] == rewritten(f"vllm/vllm-openai:v{engine['version']}", facts(raw))
    assert container["image"].startswith(facts(raw).registry) is ("docker-hub" in raw["imageCache"]["upstreams"])
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_ECR_02_the_system_nodes_may_fill_the_cache(raw: dict[str, Any]) -> None:
    recording = recorded(raw)
    statements = document(recording.one("aws:iam/rolePolicy:RolePolicy", "cluster-system"), "policy")["Statement"]
    assert {path.rpartition("repository/")[2] for path in statements[0]["Resource"]} == {
        f"{raw['imageCache']['prefix']}/{name}/*" for name in raw["imageCache"]["upstreams"]
    }
    raw["imageCache"]["upstreams"] = []
    assert [r.name for r in recorded(raw).all("aws:iam/rolePolicy:RolePolicy") if r.name == "cluster-system"] == []


def holding(inputs: dict[str, Any]) -> Recording:
    """A program with one resource."""
    return Recording([Registration("urn", "a:b:C", "one", inputs, "", "", frozenset(), {}, frozenset())])


@pytest.mark.parametrize(
    ("inputs", "found"),
    [
        ({"spec": {"containers": [{"image": "quay.io/a/b:1"}]}}, ["quay.io/a/b:1"]),
        ({"spec": {"template": {"spec": {"initContainers": [{"image": "quay.io/i:1"}]}}}}, ["quay.io/i:1"]),
        ({"values": {"image": {"repository": "quay.io/a/b", "tag": "1"}}}, ["quay.io/a/b:1"]),
        ({"values": {"image": {"registry": "quay.io", "repository": "a/b", "tag": "1"}}}, ["quay.io/a/b:1"]),
        ({"values": {"x": {"image": {"repository": "quay.io/a", "digest": DIGEST}}}}, [f"quay.io/a@{DIGEST}"]),
        ({"values": {"sidecars": [{"image": f"quay.io/a:1@{DIGEST}"}]}}, [f"quay.io/a:1@{DIGEST}"]),
        ({"values": {"image": {"repository": "public.ecr.aws/karpenter/controller", "digest": DIGEST}}}, []),
        (
            {"values": {"image": {"repository": "public.ecr.aws/karpenter/controller", "tag": "1"}}},
            ["public.ecr.aws/karpenter/controller:1"],
        ),
        ({"spec": {"containers": [{"image": "nvcr.io/nvidia/k8s-device-plugin:1"}, {"image": "nginx:1"}]}}, []),
        ({"repository": "quay.io/a"}, []),
    ],
)
def test_the_search_sees_an_image_wherever_it_stands(inputs: dict[str, Any], found: list[str]) -> None:
    known = facts({**stack_settings("dev"), "imageCache": CACHE})
    assert past_the_cache(holding(inputs), known) == [("C one", image) for image in found]


CACHE = {
    "prefix": "a-stack",
    "upstreams": ["ecr-public", "quay", "k8s"],
    "untaggedDays": 14,
    "keepTags": 20,
    "repositories": {},
}


def test_ECR_04_the_search_sees_what_nodes_pull_at_boot() -> None:
    boot = NodeBoot(os="al2023", parallel_pull=False, prepull=("quay.io/a/b:1", "nvcr.io/x:1", "nginx:1"))
    node_class = {"spec": {"userData": user_data(boot)}}
    assert list(images(node_class)) == list(boot.prepull)
    known = facts({**stack_settings("dev"), "imageCache": CACHE})
    assert past_the_cache(holding(node_class), known) == [("C one", "quay.io/a/b:1")]


def test_each_image_that_is_let_past_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in PAST_THE_CACHE.values())
