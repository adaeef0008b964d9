"""What docs/security.md says of doors is what is rendered."""

import re
from functools import cache

from infra.naming import onboarding_path, publisher_path
from serving.front.nginx import Addresses, nginx_conf
from serving.front.settings import FrontSettings
from tests.docs.tables.part import PAGES
from tests.harness import Recording, record_program, stack_settings

PAGE = (PAGES / "security.md").read_text(encoding="utf-8")
EVERYWHERE = Addresses(listen="8000", engine="h:1", gate="h:2", tokens="/tokens", folder="/folder")


def test_every_path_that_asks_for_no_token_is_named() -> None:
    (own,) = set(re.findall(r"~\^/\(([a-z|/]+)\)\\z", nginx_conf(EVERYWHERE, FrontSettings(), 30)))
    assert len(own.split("|")) == 5
    assert [path for path in own.split("|") if f"`/{path}`" not in PAGE] == []


def test_the_paths_of_those_who_may_write_are_the_programs() -> None:
    assert f"`{publisher_path('<cluster>')}`" in PAGE
    assert onboarding_path("<cluster>").endswith("/onboarding/")
    assert "`.../onboarding/`" in PAGE


@cache
def with_tokens() -> Recording:
    return record_program(stack_settings("dev"), secrets={"vllm-eks:apiTokens": "t" * 32})


def test_the_namespace_of_the_servers_has_no_pod_security_level() -> None:
    """The page says so under what is not defended. A level would refuse the servers' own hostPath."""
    (namespace,) = with_tokens().all("kubernetes:core/v1:Namespace")
    assert "labels" not in namespace.inputs["metadata"]


def test_only_the_proxy_has_the_tokens() -> None:
    pod = with_tokens().one("kubernetes:apps/v1:Deployment", "gemma").inputs["spec"]["template"]["spec"]
    (volume,) = [it["name"] for it in pod["volumes"] if "secret" in it]
    containers = [*pod["initContainers"], *pod["containers"]]
    holding = [it["name"] for it in containers for mount in it["volumeMounts"] if mount["name"] == volume]
    assert len(containers) >= 3
    assert holding == ["proxy"]
