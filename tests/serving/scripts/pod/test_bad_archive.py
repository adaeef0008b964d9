"""Build, restore and wrapper over one archive that its engine dies of."""

import shutil

from tests.serving.scripts.cache_build.build_case import BUCKET, Case
from tests.serving.scripts.pod.container import DROPPED
from tests.serving.scripts.restore.rig import Rig, archive, publish, tree
from tests.serving.scripts.stands.s3_writable import WritableS3


def test_VLM_06_a_bad_archive_costs_a_node_one_start_and_never_a_loop(pods, rig: Rig):
    """Its checksum is right, so the restore cannot know; and restoring again must not bring back what was dropped."""
    pod = pods()
    build = Case(pod.root, WritableS3(BUCKET))
    build.run(VLLM_ENGINE_READY_TIMEOUT_S="1800")
    build.bucket.close()
    pod.model.write_bytes(pod.model.read_bytes()[:1000])
    bad = {name: body for name, body in tree(pod.root).items() if not name.startswith(".")}
    publish(rig.bucket, archive(bad), len(bad))
    shutil.rmtree(pod.root)
    assert rig.run().outcome == "hit"
    pod.root.symlink_to(rig.target)

    assert "cache dropped" not in pod.dies()
    assert DROPPED.search(pod.serves())["names"] == ".dropped-torch_compile_cache"
    assert rig.run().outcome == "present"
    assert "Directly load AOT" in pod.serves()
