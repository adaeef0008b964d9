"""Each image that a server runs, at its own registry, or in ECR itself."""

import json

import pytest

from infra.image_cache.reference import image_reference
from infra.karpenter.controller import DIGESTS
from ops.preflight.content import images
from ops.preflight.content.oci import Said
from tests.ops.preflight.cloud import DENIED, THROTTLED, Refusal

ENGINE = "vllm/vllm-openai:v0.33.0"
PROXY = "public.ecr.aws/nginx/nginx-unprivileged:1.29.1-alpine3.22"
ECR = "000000000000.dkr.ecr.us-west-2.amazonaws.com"
KARPENTER = f"public.ecr.aws/karpenter/controller:1.14.1@{DIGESTS['1.14.1']}"
OWN = f"{ECR}/inference-dev/engine:v1"


class Told:
    """Registries that say one thing, and remember what they were asked."""

    def __init__(self, said):
        self.said, self.asked = said, []

    def has(self, image):
        self.asked.append(str(image))
        return self.said


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


def engine(image):
    def change(settings):
        settings["imageCache"]["repositories"] = {"engine": {"keepOnDestroy": False}}
        settings["servers"]["gemma"]["engine"]["image"] = image

    return change


def test_engine_and_proxy_are_asked_for_where_they_come_from(asked, cloud):
    told = Told(Said(True, "sha256:1"))
    assert lines(images.check(asked(), told)) == [("ok", it, "sha256:1", "") for it in (ENGINE, PROXY, KARPENTER)]
    assert told.asked == [f"docker.io/{ENGINE}", PROXY, KARPENTER]
    assert cloud.asked == []


def test_karpenters_image_is_asked_for_by_the_digest_of_the_stack_file(asked):
    digest = f"sha256:{'0' * 64}"
    stack = asked(lambda settings: settings["karpenter"].update(version="1.15.0", digest=digest))
    image = f"public.ecr.aws/karpenter/controller:1.15.0@{digest}"
    assert lines(images.check(stack, Told(Said(False, "x has no y"))))[-1] == (
        "fail",
        image,
        "x has no y",
        "correct karpenter",
    )


def test_a_candidates_image_too_and_each_image_once(asked):
    def change(settings):
        servers = settings["servers"]
        servers["gemma"]["candidate"] = {"version": "0.26.0", "args": {}}
        settings["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 4
        servers["other"] = servers["gemma"]

    found = images.references(asked(change).stack.settings.servers)
    assert found == {
        ENGINE: ["servers.gemma.engine", "servers.other.engine"],
        "vllm/vllm-openai:v0.26.0": ["servers.gemma.candidate", "servers.other.candidate"],
        PROXY: ["servers.gemma.techniques", "servers.other.techniques"],
    }


def test_a_missing_tag_fails_with_the_keys_that_ask_for_it(asked):
    found = lines(images.check(asked(), Told(Said(False, "x has no y"))))
    assert found[0] == ("fail", ENGINE, "x has no y", "correct servers.gemma.engine")


def test_a_registry_that_does_not_tell_is_unknown(asked):
    assert lines(images.check(asked(), Told(Said(None, "x answers 500"))))[0] == (
        "unknown",
        ENGINE,
        "x answers 500",
        "reach the registry from here, then run again",
    )


def test_a_private_image_says_how_to_look_oneself(asked):
    assert lines(images.check(asked(), Told(Said(None, "x answers 401", "look"))))[0][2:] == ("x answers 401", "look")


def test_an_image_below_the_stacks_own_cache_is_asked_for_upstream(asked):
    """A cold cache has none of them, and that is in order."""
    told = Told(Said(True, ""))
    list(images.check(asked(engine(f"{ECR}/inference-dev/quay/team/engine:v1")), told))
    assert told.asked[0] == "quay.io/team/engine:v1"


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        ({"imageDetails": [{"imageDigest": "sha256:2"}]}, ("ok", OWN, "sha256:2", "")),
        (
            {"imageDetails": []},
            ("fail", OWN, f"{ECR} has no inference-dev/engine:v1", "push it, or correct servers.gemma.engine"),
        ),
        (
            Refusal("ImageNotFoundException"),
            ("fail", OWN, f"{ECR} has no inference-dev/engine:v1", "push it, or correct servers.gemma.engine"),
        ),
        (
            Refusal("RepositoryNotFoundException"),
            ("fail", OWN, f"{ECR} has no inference-dev/engine:v1", "push it, or correct servers.gemma.engine"),
        ),
        (
            DENIED,
            (
                "unknown",
                OWN,
                "ecr:DescribeImages: AWS answers AccessDeniedException: not authorized",
                "allow ecr:DescribeImages, then run again",
            ),
        ),
        (
            THROTTLED,
            ("unknown", OWN, "ecr:DescribeImages: AWS answers ThrottlingException: Rate exceeded", "run again later"),
        ),
    ],
    ids=["there", "empty", "no image", "no repository", "denied", "throttled"],
)
def test_an_image_of_ones_own_is_asked_for_with_ones_own_rights(asked, cloud, answer, finding):
    cloud.on("DescribeImages", answer)
    told = Told(Said(True, ""))
    assert lines(images.check(asked(engine(OWN)), told))[0] == finding
    assert told.asked == [PROXY, KARPENTER]
    (request,) = cloud.times("DescribeImages")
    assert request == {"repositoryName": "inference-dev/engine", "imageIds": [{"imageTag": "v1"}]}


def test_own_images_against_moto(real, aws):
    stack = real(engine(OWN))
    image = image_reference(OWN)
    assert images._own(stack, image) is None
    ecr = aws("ecr")
    ecr.create_repository(repositoryName="inference-dev/engine")
    assert images._own(stack, image) is None
    kind = "application/vnd.oci.image.manifest.v1+json"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "config": {"digest": "sha256:1"}, "layers": []})
    ecr.put_image(repositoryName="inference-dev/engine", imageTag="v1", imageManifest=manifest)
    assert str(images._own(stack, image)).startswith("sha256:")
