import pytest

from guardrails.start_up.images import PULL_THROUGH, split, tag
from tests.policies.conftest import BY_ID, UNKNOWN, found, resource, unchecked
from tests.policies.start_up.shapes import CRON_JOB, deployment

IMAGE = "spec.template.spec.containers[0].image"
ACCOUNT = "000000000000.dkr.ecr.us-west-2.amazonaws.com"


def running(*images):
    return deployment({"containers": [{"name": f"c{place}", "image": it} for place, it in enumerate(images)]})


def cache(upstream="registry-1.docker.io", prefix="team/hub", name="hub"):
    return resource(PULL_THROUGH, {"upstreamRegistryUrl": upstream, "ecrRepositoryPrefix": prefix}, name)


@pytest.mark.parametrize(
    "image",
    ["nginx:1.29", "host:5000/a/b:v1", "a/b@sha256:00", "vllm/vllm-openai:nightly-0a1b2c", "a:latest@sha256:00"],
)
def test_an_image_with_a_version_or_a_digest_passes(image):
    assert found("image-tag", running(image)) == []


@pytest.mark.parametrize("name", ["latest", "nightly", "main", "latest-cu128"])
def test_a_tag_that_moves_is_named(name):
    assert found("image-tag", running(f"vllm/vllm-openai:{name}")) == [
        f"container c0: vllm/vllm-openai:{name} moves; name a version in place of {name}"
    ]


def test_no_tag_is_latest_and_no_image_is_none():
    assert found("image-tag", running("nginx", "host:5000/nginx", None, "")) == [
        "container c0: nginx has no tag, which is latest; name a version",
        "container c1: host:5000/nginx has no tag, which is latest; name a version",
        "container c2: it has no image; name one, with a version",
        "container c3: it has no image; name one, with a version",
    ]


def test_which_tags_move_is_configured():
    stable = running("a:stable", "a:main")
    assert found("image-tag", stable, config={"moving": ["stable"]}) == [
        "container c0: a:stable moves; name a version in place of stable"
    ]


def test_an_image_that_cannot_be_read_hides_no_other():
    assert unchecked("image-tag", running(UNKNOWN, "nginx")) == [IMAGE]
    assert found("image-tag", running(UNKNOWN, "nginx")) == [
        "container c1: nginx has no tag, which is latest; name a version"
    ]
    assert found("image-tag", running(5)) == [f"{IMAGE}: expected a text, found a number"]
    cron = resource(CRON_JOB, {"spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": True}}}}}})
    assert found("image-tag", cron) == [
        "spec.jobTemplate.spec.template.spec.containers: expected a list, found true or false"
    ]


@pytest.mark.parametrize(
    ("image", "host", "path"),
    [
        ("nginx:1", "docker.io", "library/nginx:1"),
        ("nginx@sha256:00", "docker.io", "library/nginx@sha256:00"),
        ("vllm/vllm-openai:v1", "docker.io", "vllm/vllm-openai:v1"),
        ("docker.io/nginx:1", "docker.io", "library/nginx:1"),
        ("index.docker.io/a/b", "docker.io", "a/b"),
        ("localhost/a", "localhost", "a"),
        ("host:5000/a/b:1", "host:5000", "a/b:1"),
        ("quay.io/a/b:1", "quay.io", "a/b:1"),
    ],
)
def test_registry_and_path_of_a_reference(image, host, path):
    assert split(image) == (host, path)


def test_tag_of_a_reference():
    assert [tag(it) for it in ("a", "h:5000/a", "a:1", "h:5000/a:1@sha256:0")] == [None, None, "1", "1"]


def test_images_of_registries_that_ecr_does_not_cache_pass():
    inside = f"{ACCOUNT}/team/hub/vllm/vllm-openai:v1"
    assert found("image-through-cache", running("ghcr.io/a/b:1", inside), cache()) == []
    assert found("image-through-cache", running("vllm/vllm-openai:v1")) == []


@pytest.mark.parametrize(
    ("image", "rule", "mended"),
    [
        ("vllm/vllm-openai:v1", cache(), "team/hub/vllm/vllm-openai:v1"),
        ("nginx:1", cache(), "team/hub/library/nginx:1"),
        ("quay.io/a/b:1", cache("quay.io", "ROOT"), "a/b:1"),
        ("quay.io/a/b:1", cache("quay.io", None), "a/b:1"),
        # what the prefix is does not matter
        ("quay.io/a/b:1", cache("quay.io", UNKNOWN), "<prefix of hub>/a/b:1"),
    ],
)
def test_an_image_that_ecr_caches_comes_from_there(image, rule, mended):
    host = "quay.io" if "quay" in image else "docker.io"
    assert found("image-through-cache", running(image), rule) == [
        f"container c0: {image} comes from {host}, which ECR caches (hub);"
        f" write <account>.dkr.ecr.<region>.amazonaws.com/{mended}"
    ]


def test_a_cache_of_a_registry_that_is_not_known_is_said_and_hides_no_other():
    strange = cache(UNKNOWN, name="strange")
    assert unchecked("image-through-cache", running("nginx:1"), strange) == ["strange: upstreamRegistryUrl"]
    assert len(found("image-through-cache", running("nginx:1"), strange, cache())) == 1
    assert unchecked("image-through-cache", running(UNKNOWN), cache()) == [IMAGE]
    assert found("image-through-cache", running("nginx:1"), cache(5)) == [
        "hub: upstreamRegistryUrl: expected a text, found a number"
    ]
    assert found("image-through-cache", running(None, ""), cache()) == []


def test_a_digest_does_not_fill_the_cache():
    image = f"{ACCOUNT}/team/hub/vllm/vllm-openai:v1@sha256:00"
    assert found("digest-through-cache", running(image), cache()) == [
        f"container c0: {image} is not found until its tag has been pulled through ECR's cache once (hub);"
        " pull the tag first, or copy the image to a repository of your own"
    ]
    own = (f"{ACCOUNT}/own/vllm@sha256:00", f"{ACCOUNT}/team/hub/vllm:v1", "a.io/team/hub/vllm@sha256:00", None)
    assert found("digest-through-cache", running(*own), cache()) == []
    assert found("digest-through-cache", running(image), cache(prefix="ROOT")) == []
    assert unchecked("digest-through-cache", running(image), cache(prefix=UNKNOWN)) == ["hub: ecrRepositoryPrefix"]
    assert unchecked("digest-through-cache", running(UNKNOWN), cache()) == [IMAGE]
    assert found("digest-through-cache", running(True), cache()) == [f"{IMAGE}: expected a text, found true or false"]
    assert BY_ID["digest-through-cache"].level == "advisory"
