"""Update or replace on the real engine: what the providers answer is what the engine does."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pulumi.automation import CommandError, OpType

from rehearsal.engine.stack import prepared
from rehearsal.toolchain import pulumi_cli
from tests.rehearsal.conftest import PROGRAM

OBJECT = 'k8s.core.v1.Namespace("serving", opts=pulumi.ResourceOptions(provider=api))\n'


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`first(leave_out)`: a folder with the tiny program without that text, and its state after one `up`."""

    @functools.cache
    def made(leave_out: str) -> Path:
        folder = tmp_path_factory.mktemp("first")
        shutil.copytree(PROGRAM, folder / "project")
        main = folder / "project" / "__main__.py"
        main.write_text(main.read_text().replace(leave_out, ""))
        with prepared("dev", project=folder / "project", cli=pulumi_cli.find(), state=folder / "state") as rehearsal:
            rehearsal.stack.up()
        return folder

    return made


@pytest.fixture
def tried(tmp_path: Path, first: Callable[[str], Path]) -> Callable[..., dict[str, set[str]]]:
    """`tried(("old", "new"), region=..., leave_out=...)`: the tiny program up, its text changed, and up again.

    The answer is what the second `up` did: operation to the names of the resources. `leave_out` is text that the
    program never has.
    """

    def run(*changes: tuple[str, str], region: str | None = None, leave_out: str = "") -> dict[str, set[str]]:
        folder = Path(shutil.copytree(first(leave_out), tmp_path / "second"))
        project, state = folder / "project", folder / "state"
        main, config = project / "__main__.py", project / "Pulumi.dev.yaml"
        for old, new in changes:
            assert old in main.read_text()
            main.write_text(main.read_text().replace(old, new))
        if region:
            config.write_text(config.read_text().replace("eu-west-1", region))
        done: dict[str, set[str]] = {}

        def listen(event):
            if event.resource_pre_event is not None:
                step = event.resource_pre_event.metadata
                done.setdefault(step.op, set()).add(step.urn.split("::", 3)[3])

        with prepared("dev", project=project, cli=pulumi_cli.find(), state=state) as rehearsal:
            previewed = rehearsal.stack.preview().change_summary
            assert rehearsal.stack.up(on_event=listen).summary.resource_changes == previewed
            assert set(rehearsal.stack.preview().change_summary) == {OpType.SAME}
            # The engine and the cloud know of the same resources, each once.
            kept = [it for it in rehearsal.stack.export_stack().deployment["resources"] if it["custom"]]
            known = [(it["type"], it["id"]) for it in kept if not it["type"].startswith("pulumi:")]
            assert sorted(known) == sorted(rehearsal.cloud.everything())
        return done

    return run


def test_another_tag_updates_in_place(tried):
    done = tried(('tags={"Name": name}', 'tags={"Name": "other"}'))
    assert done["update"] == {"net"}
    assert done.keys() == {"same", "update"}


def test_other_default_tags_update_what_is_tagged(tried):
    done = tried(('{"team": "ml", "stack": "dev"}', '{"team": "ops", "stack": "dev"}'))
    assert done["update"] == {
        *("main", "net", "net-0", "net-1", "Weights", "coredns"),
        *("tiny-eksRole-role", "tiny-eksCluster", "tiny-admin"),
    }
    assert done.keys() == {"same", "update"}


def test_another_address_range_replaces_the_network_and_what_stands_in_it(tried):
    done = tried(('cidr_block="10.0.0.0/16"', 'cidr_block="10.9.0.0/16"'), ('f"10.0.{zone}', 'f"10.9.{zone}'))
    assert done["create-replacement"] == {"net", "net-0", "net-1"}
    # Subnets of a cluster are exchanged in place ("tiny" is the component around it).
    assert done["update"] == {"tiny", "tiny-eksCluster"}


def test_another_name_replaces_a_cluster_and_what_belongs_to_it_the_old_ones_first(tried):
    done = tried(('name="tiny-dev"', 'name="tiny-two"'), leave_out=OBJECT)
    gone = {"tiny-eksCluster", "tiny-admin", "tiny-admin-a", "coredns", "tiny-eks-k8s", "api"}
    assert done["delete-replaced"] == done["create-replacement"] == gone


def test_the_engine_cannot_replace_a_cluster_together_with_the_objects_in_it(tried):
    """A flaw of the engine, here as on AWS (pulumi/pulumi#14650), not of the rehearsal.

    `Registry.Diff` closes a provider that is to be replaced, and the objects are deleted through it after that
    (`pkg/resource/deploy/providers/registry.go`, pulumi 3.274). When this fails, the engine can.
    """
    with pytest.raises(CommandError, match=r"Namespace serving \*\*deleting failed\*\* error: grpc: the client conn"):
        tried(('name="tiny-dev"', 'name="tiny-two"'))


def test_another_region_updates_the_provider_and_replaces_what_is_in_it(tried):
    done = tried(region="eu-central-1", leave_out=OBJECT)
    assert "main" in done["update"]
    assert {"net", "net-0", "net-1", "Weights", "tiny-eksCluster", "coredns"} <= done["create-replacement"]
    assert done["same"] >= {"other", "copy", "tiny-eksRole-role"}


def test_an_object_that_pulumi_names_is_made_before_the_old_one_goes(tried):
    done = tried((OBJECT, OBJECT.replace("opts", 'metadata={"name": "x"}, opts')))
    assert done["create-replacement"] == done["delete-replaced"] == {"serving"}
    assert done.keys() == {"same", "create-replacement", "replace", "delete-replaced"}
