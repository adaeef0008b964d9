"""A resource that gets another URN is deleted and made again: weights, cluster and all."""

import shutil
from pathlib import Path
from typing import Any

import pulumi
import pytest

from infra.model_bucket import ModelBucket, ModelBucketArgs
from tests.harness import STACKS, Recording, record_program, stack_settings
from tests.stack import urns
from tests.stack.urns.__main__ import main

BUCKET = "vllm-eks:infra:ModelBucket"
GUARD = f"{BUCKET}$aws:s3/bucketVersioning:BucketVersioning"


def test_no_resource_changes_its_urn_without_an_alias(stack: str, recording: Recording) -> None:
    found = urns.difference(stack, recording)
    assert not found, str(found)


def renamed(monkeypatch: pytest.MonkeyPatch, alias: pulumi.Alias | None = None, **opts: Any) -> urns.Difference:
    """The dev stack with its model bucket called `weights` instead of `models`."""
    original = ModelBucket.__init__

    def init(self: ModelBucket, name: str, args: ModelBucketArgs, given: pulumi.ResourceOptions | None = None) -> None:
        more = pulumi.ResourceOptions(aliases=[alias] if alias else [], **opts)
        original(self, "weights", args, pulumi.ResourceOptions.merge(given, more))

    monkeypatch.setattr(ModelBucket, "__init__", init)
    return urns.difference("dev", record_program(stack_settings("dev")))


def test_a_rename_without_an_alias_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = renamed(monkeypatch)
    assert len(found.gone) == len(found.new) == 8
    assert f"{BUCKET}$aws:s3/bucket:Bucket::models" in found.gone
    assert f"{BUCKET}$aws:s3/bucket:Bucket::weights" in found.new


@pytest.mark.parametrize(
    "alias",
    [pulumi.Alias(name="models"), f"urn:pulumi:test::vllm-eks::{BUCKET}::models"],
    ids=["spec", "urn"],
)
def test_children_follow_an_alias_of_their_component(monkeypatch: pytest.MonkeyPatch, alias: Any) -> None:
    """The engine derives their old names from the component's: `weights-policy` was `models-policy`."""
    found = renamed(monkeypatch, alias)
    assert found.gone == ()
    assert f"{GUARD}::weights-versions" in found.new


def test_an_alias_to_another_type_or_parent_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = f"urn:pulumi:test::vllm-eks::{BUCKET}::models"
    found = renamed(monkeypatch, pulumi.Alias(name="models", type_="vllm-eks:infra:Weights"))
    assert len(found.gone) == 8
    monkeypatch.undo()
    found = renamed(monkeypatch, pulumi.Alias(name="models", parent=parent))
    assert len(found.gone) == 8
    monkeypatch.undo()
    assert renamed(monkeypatch, pulumi.Alias(name="models", parent=None)).gone == ()


def test_the_difference_says_what_to_do() -> None:
    assert str(urns.Difference(file="dev.txt", gone=("a:b:C::old",), new=("a:b:C::new",))) == (
        "dev.txt and what the program registers differ.\n"
        "Gone, with no alias to them: the next `up` deletes these and what they hold.\n"
        "  a:b:C::old\n"
        "Renamed or moved? Give the new resource its old name: aliases=[pulumi.Alias(name=..., type_=...)]."
        " Really deleted? .venv/bin/python -m tests.stack.urns --accept-deletions\n"
        "New:\n"
        "  a:b:C::new"
    )
    assert str(urns.Difference(file="dev.txt", gone=(), new=("a:b:C::new",))) == (
        "dev.txt and what the program registers differ.\nNew:\n  a:b:C::new\n"
        "Meant? .venv/bin/python -m tests.stack.urns"
    )


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the lists, with a line in dev's that the program does not register, and one that it does missing."""
    for stack in STACKS:
        shutil.copy(urns.path(stack), tmp_path)
    monkeypatch.setattr(urns, "path", lambda stack: tmp_path / f"{stack}.txt")
    monkeypatch.setattr(urns, "ROOT", tmp_path)
    dev = tmp_path / "dev.txt"
    dev.write_text("a:b:C::old\n" + dev.read_text().replace("pulumi:providers:aws::aws\n", ""))
    return dev


def test_the_command_hides_no_deletion(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = lists.read_text()
    assert main([]) == 1
    assert lists.read_text() == before
    assert "  a:b:C::old\n" in capsys.readouterr().err
    assert main(["--accept-deletions"]) == 0
    assert lists.read_text().splitlines() == urns.registered(record_program(stack_settings("dev")))
    assert main([]) == 0
