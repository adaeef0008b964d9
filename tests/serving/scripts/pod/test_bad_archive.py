"""Restore and wrapper over an archive that its engine dies of: its checksum is right, so the restore cannot know."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from restored import Restored, read, write
from tests.serving.scripts.pod.container import DROPPED, Pod
from tests.serving.scripts.restore.rig import FOLDER, Rig, Tree, archive, publish, publish_base, tree

EVERYTHING = ".dropped-flashinfer .dropped-home .dropped-triton .dropped-vllm"
COMPILED = ".dropped-torch_compile_cache"

Spoil = Callable[[Tree], None]


def cut_model(content: Tree) -> None:
    name = next(name for name in content if name.endswith("/model"))
    content[name] = content[name][:1000]


def bad_library(content: Tree) -> None:
    content[next(name for name in content if name.endswith("sampling.so"))] = b"bad"


class Node:
    """A node whose restored folder is where the engine mounts it: paths are recorded."""

    def __init__(self, pod: Pod, rig: Rig) -> None:
        self.pod, self.rig = pod, rig
        pod.serves()
        self.good = {name: body for name, body in tree(pod.root).items() if not name.startswith(".")}
        shutil.rmtree(pod.root)
        rig.target.parent.mkdir(parents=True)
        pod.root.symlink_to(rig.target)

    def spoilt(self, spoil: Spoil) -> Tree:
        content = dict(self.good)
        spoil(content)
        return content

    def publish(self, content: Tree) -> str:
        """Put an archive of the content into the bucket in the place of what is there; returns its sha256."""
        shutil.rmtree(self.rig.bucket / FOLDER.prefix, ignore_errors=True)
        return publish(self.rig.bucket, archive(content), len(content)).sha256

    def restored(self) -> tuple[str, str]:
        run = self.rig.run()
        return run.outcome, run.restored


@pytest.fixture
def node(pods: Callable[..., Pod], rig: Rig) -> Node:
    return Node(pods(), rig)


@pytest.mark.parametrize("spoil", [cut_model, bad_library])
def test_VLM_06_a_bad_archive_costs_a_node_one_start_wherever_it_is_bad(node: Node, spoil: Spoil):
    sha256 = node.publish(node.spoilt(spoil))
    assert node.restored() == ("hit", "fingerprint")
    assert "cache dropped" not in node.pod.dies()
    assert DROPPED.search(node.pod.serves())["names"] == EVERYTHING
    run = node.rig.run()
    assert (run.outcome, run.restored, run.reason) == (
        "present",
        "none",
        f"archive {sha256[:12]} was given up on this node",
    )
    assert "Directly load AOT" in node.pod.serves()


def test_an_archive_that_has_served_is_given_up_in_two_steps(node: Node):
    node.publish(node.good)
    node.restored()
    assert "Directly load AOT" in node.pod.serves()
    node.pod.dies(STUB_REFUSES="1")
    assert DROPPED.search(node.pod.dies(STUB_REFUSES="1"))["names"] == COMPILED
    assert node.restored() == ("present", "none")
    assert DROPPED.search(node.pod.serves())["names"] == EVERYTHING


def test_after_a_cache_of_another_root_a_death_still_costs_one_start_in_all(node: Node):
    content = node.spoilt(bad_library)
    index = next(name for name in content if name.endswith("vllm_compile_cache.py"))
    content[index] = content[index].replace(str(node.pod.root).encode(), b"/elsewhere")
    node.publish(content)
    node.restored()
    assert DROPPED.search(node.pod.dies())["names"] == COMPILED
    assert DROPPED.search(node.pod.serves())["names"] == EVERYTHING


def test_another_archive_gets_in_after_one_was_given_up(node: Node):
    """Also when the first one was no cause of the death: out of memory, a forced deletion."""
    node.publish(node.spoilt(bad_library))
    node.restored()
    node.pod.dies()
    node.pod.serves()
    assert node.restored() == ("present", "none")
    node.publish(node.good)
    assert node.restored() == ("hit", "fingerprint")
    assert "cache dropped" not in node.pod.serves()
    assert node.restored() == ("present", "fingerprint")


def test_a_base_never_replaces_what_an_engine_compiled_after_it_gave_up(node: Node):
    node.publish(node.spoilt(bad_library))
    publish_base(node.rig.bucket, node.good)
    node.restored()
    node.pod.dies()
    node.pod.serves()
    assert node.restored() == ("present", "none")
    assert "Directly load AOT" in node.pod.serves()


def test_a_base_that_was_given_up_gives_way_to_the_fingerprint(node: Node):
    publish_base(node.rig.bucket, node.spoilt(bad_library))
    assert node.restored() == ("base", "base")
    node.pod.dies()
    assert DROPPED.search(node.pod.serves())["names"] == EVERYTHING
    assert node.restored() == ("present", "none")
    node.publish(node.good)
    assert node.restored() == ("hit", "fingerprint")


def test_the_same_archive_is_restored_again_in_another_boot(node: Node):
    """Whatever was given up: nothing that one boot found is believed in the next."""
    node.publish(node.good)
    node.restored()
    node.pod.dies(STUB_REFUSES="1")
    node.pod.serves()
    found = read(node.rig.target)
    assert found.given_up
    write(node.rig.target, Restored(found.fingerprint, found.sha256, "another", found.given_up))
    assert node.restored() == ("hit", "fingerprint")


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"fingerprint": 1, "sha256": 2, "boot": 3}', "[" * 60_000])
def test_a_marker_that_says_nothing_counts_as_none(tmp_path: Path, said: str):
    (tmp_path / ".restored.json").write_text(said)
    assert read(tmp_path) is None
