"""What the wrapper gives up of a cache, and when: a bad one costs one start, never a loop."""

import re
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.serving.scripts.pod.container import DROPPED, wait_for


def test_a_mark_is_there_from_start_to_the_first_success_of_the_probe(pods):
    pod = pods()
    process = pod.start(STUB_SECONDS="0.5")
    wait_for(lambda: pod.marks == [".starting-chat-0"])
    assert pod.probe() == 1
    assert pod.marks == [".starting-chat-0"]
    pod.until_ready(process)
    assert pod.marks == []


def test_a_good_cache_is_kept_through_any_number_of_starts(pods):
    pod = pods()
    assert "Compiling a graph" in pod.serves()
    for _ in range(3):
        log = pod.serves()
        assert "cache dropped" not in log
        assert "Directly load AOT" in log


def test_a_crash_after_readiness_costs_no_cache(pods):
    pod = pods()
    process = pod.start(STUB_FAILS_AFTER="1")
    pod.until_ready(process)
    process.communicate(timeout=10)
    assert process.returncode == 9
    assert "Directly load AOT" in pod.serves()


def test_an_ordered_stop_during_a_start_costs_no_cache(pods):
    pod = pods()
    pod.serves()
    process = pod.start(STUB_HANGS="60")
    wait_for(lambda: pod.marks != [])
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode != 0
    assert pod.marks == []
    assert "Directly load AOT" in pod.serves()


def test_a_start_that_hung_beyond_its_limit_has_died_although_kubelet_asked_politely(pods):
    pod = pods()
    pod.serves(VLLM_ENGINE_READY_TIMEOUT_S="1")
    process = pod.start(STUB_HANGS="60", VLLM_ENGINE_READY_TIMEOUT_S="1")
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert pod.marks == [".starting-chat-0"]
    assert DROPPED.search(pod.serves())["reason"] == "a start died before it was ready"


def test_VLM_06_a_truncated_archive_costs_one_attempt_then_a_clean_start(pods):
    pod = pods()
    pod.serves()
    pod.model.write_bytes(pod.model.read_bytes()[:1000])
    assert "cache dropped" not in pod.dies()
    log = pod.serves()
    assert DROPPED.search(log)["names"] == ".dropped-torch_compile_cache"
    assert (pod.root / ".dropped-torch_compile_cache").is_dir()
    assert "cache dropped" not in pod.serves()


def test_VLM_06_a_cache_recorded_for_another_root_costs_no_attempt(pods):
    first, second = pods("a"), pods("b")
    first.serves()
    shutil.copytree(first.root, second.root)
    shutil.rmtree(first.root)
    log = second.serves()
    assert re.search(rf"cache dropped: recorded for another root: {first.root}/\S+; aside: \S+\n", log)
    assert "Directly load AOT" in second.serves()


def test_a_recorded_file_that_is_missing_costs_no_attempt(pods):
    pod = pods()
    pod.serves()
    (artifact,) = pod.root.glob("vllm/torch_compile_cache/*/rank_0_0/backbone/artifact_*")
    artifact.unlink()
    assert DROPPED.search(pod.serves())["reason"] == f"a recorded file is missing: {artifact}"


def test_what_is_bad_outside_the_compile_cache_goes_after_the_second_death(pods):
    pod = pods()
    pod.serves()
    library = next(pod.root.rglob("sampling.so"))
    library.write_bytes(b"bad")
    process = pod.start()
    process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGSEGV
    assert ".dropped-torch_compile_cache" in pod.dies()
    assert DROPPED.search(pod.serves())["names"] == ".dropped-flashinfer .dropped-home .dropped-triton .dropped-vllm"
    assert "cache dropped" not in pod.serves()


def test_a_failure_that_is_not_the_caches_never_grows_the_disk(pods):
    pod = pods()
    pod.serves()
    for _ in range(5):
        pod.dies(STUB_REFUSES="1")
    assert len(list(pod.root.glob(".dropped-*"))) == 5
    pod.serves()
    assert pod.marks == []


def test_two_roots_know_nothing_of_each_other(pods):
    good, bad = pods("good"), pods("bad")
    good.serves()
    bad.dies(STUB_REFUSES="1")
    assert "cache dropped" not in good.serves()


def test_a_killed_wrapper_counts_as_a_death(pods):
    pod = pods()
    pod.serves()
    pod.start(STUB_SECONDS="30")
    wait_for(lambda: pod.marks != [])
    pod.kill()
    assert DROPPED.search(pod.serves())


def test_the_mark_of_a_pod_that_is_gone_is_found_by_the_next_pod(pods):
    gone, new = pods(host="chat-7d9"), pods(host="chat-x2k")
    gone.serves()
    gone.dies(STUB_REFUSES="1")
    assert DROPPED.search(new.serves())
    assert new.marks == []


def test_another_container_that_is_starting_is_neither_dead_nor_robbed_of_its_cache(pods):
    one, two = pods(host="chat-0"), pods(host="chat-1")
    one.serves()
    one.dies(STUB_REFUSES="1")
    starting = one.start(STUB_SECONDS="3")  # finds its own death and drops
    wait_for((one.root / ".dropped-torch_compile_cache").exists)
    assert "cache dropped" not in two.serves()
    one.until_ready(starting)


def test_while_another_starts_from_a_bad_cache_this_one_runs_without_it(pods):
    one, two = pods(host="chat-0"), pods(host="chat-1")
    one.serves()
    next(one.root.glob("vllm/torch_compile_cache/*/rank_0_0/backbone/artifact_*")).rename(one.root / "away")
    started = one.start(STUB_SECONDS="1.5")
    wait_for((one.root / ".dropped-torch_compile_cache").exists)
    (one.root / ".dropped-torch_compile_cache").rename(one.root / "vllm/torch_compile_cache")
    log = two.serves()
    assert re.search(
        r"cache ignored: a recorded file is missing: \S+, and another container is starting from it\n", log
    )
    assert "Directly load" not in log
    started.communicate(timeout=10)
    assert started.returncode == 1
    assert DROPPED.search(two.serves())


def test_VLM_05_a_folder_that_takes_no_mark_is_not_trusted_and_does_not_stop_the_engine(pods, tmp_path):
    pod = pods()
    pod.root = Path("/proc/1/vllm-cache")  # no user can write here
    process = pod.start(sys.executable, "-c", "import os; print(os.environ['VLLM_DISABLE_COMPILE_CACHE'])")
    log, _ = process.communicate(timeout=10)
    assert re.fullmatch(r"cache ignored: no mark can be written: [^\n]+\n1\n", log)
    assert process.returncode == 0


WITHOUT_RIGHTS = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: modes count for root too
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_compile_cache_that_another_user_owns_goes_with_everything_else(pods):
    """Its folder takes no change, but the root is the engine's: what lies at the top can be renamed."""
    pod = pods()
    pod.serves()
    next(pod.root.glob("vllm/torch_compile_cache/*/rank_0_0/backbone/artifact_*")).unlink()
    for generation in ("", ".1"):
        (pod.root / "vllm").chmod(0o555)
        log = pod.serves(by=(sys.executable, "-c", WITHOUT_RIGHTS))
        names = DROPPED.search(log)["names"].split()
        assert names == [".dropped-flashinfer", ".dropped-home", ".dropped-triton", f".dropped-vllm{generation}"]
        assert "cache ignored" not in log
        next(pod.root.glob("vllm/torch_compile_cache/*/rank_0_0/backbone/artifact_*")).unlink()
