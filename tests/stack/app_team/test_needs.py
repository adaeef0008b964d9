"""What the example needs of a platform, refused in one line where it is not there."""

from typing import Any

import pulumi
import pytest

import outputs
from needs import needs
from tests.harness import Recording


def test_a_server_that_the_platform_does_not_have_is_refused_in_one_line(dev: Recording) -> None:
    platform = outputs.Platform.model_validate(dev.outputs)
    assert needs(platform, "gemma", token=False).url == platform.servers["gemma"].url
    with pytest.raises(pulumi.RunError) as refused:
        needs(platform, "qwen", token=False)
    assert str(refused.value) == 'app-team:server: "qwen"; the platform serves gemma'
    with pytest.raises(pulumi.RunError, match=r'^app-team:server: "qwen"; the platform serves nothing$'):
        needs(platform.model_copy(update={"servers": {}}), "qwen", token=False)


@pytest.mark.parametrize("gone", ["account", "modelBucketArn", "s3Addresses", "modelPrefix", "pods"])
def test_a_platform_that_does_not_say_enough_is_refused_with_its_version(dev: Recording, gone: str) -> None:
    def without(node: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in node.items() if key != gone}

    servers = {name: without(server) for name, server in dev.outputs["servers"].items()}
    platform = outputs.Platform.model_validate({**without(dev.outputs), "servers": servers, "outputsVersion": "1.0"})
    with pytest.raises(pulumi.RunError) as refused:
        needs(platform, "gemma", token=False)
    assert str(refused.value) == "app-team:platform: its outputs are of version 1.0, and this program needs 1.1"
