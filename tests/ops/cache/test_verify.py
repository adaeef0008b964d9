"""A full hit is what the log proves, and nothing less."""

import json

import pytest

from ops.cache.verify import verdict

FRAME = (
    "INFO 11-30 10:00:00 [core.py:117] Initializing a V1 LLM engine (v0.33.0) with config: ...",
    "INFO:     Application startup complete.",
)
FOLDER = "/vllm-cache/vllm/torch_compile_cache/0123456789/rank_0_0/backbone"
KEY = f"INFO [backends.py:1095] Using cache directory: {FOLDER} for vLLM's torch.compile"
AOT = "INFO [decorators.py:312] Directly load AOT compilation from path /vllm-cache/x"
GRAPH = (
    "INFO [backends.py:293] Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 1.2 s"
)
MISS = "INFO [backends.py:379] Compiling a graph for compile range (1, 8192) takes 20.00 s"


def restored(outcome, reason="", *, what="fingerprint"):
    counts = "bytes=228589568 files=1204 seconds=1.250"
    return f'cache-restore: outcome={outcome} restored={what} {counts} reason="{reason}"'


def log(*lines):
    begin, end = FRAME
    return "\n".join([begin, *lines, end])


HIT = log(KEY, AOT, GRAPH)


@pytest.mark.parametrize("outcome", ["hit", "present"])
def test_both_layers_and_a_restore_are_a_full_hit(outcome):
    assert verdict(f"{restored(outcome)}\n{HIT}", "0.33.0") == (
        [f"cache-restore  {outcome}, restored fingerprint: 218.0 MiB in 1.2 s", "engine         full hit"],
        0,
    )


def test_a_server_that_restores_nothing_may_hit_what_its_node_has():
    assert verdict(HIT, "0.33.0") == (
        ["cache-restore  no line: what was hit is this node's own", "engine         full hit"],
        0,
    )


@pytest.mark.parametrize(
    ("outcome", "what"),
    [
        ("base", "base"),
        ("present", "base"),
        ("present", "none"),
        ("corrupt", "base"),
        *((outcome, "none") for outcome in ("miss", "corrupt", "denied", "no-credentials", "timeout", "failed")),
    ],
)
def test_a_hit_that_was_not_restored_proves_nothing_for_a_new_node(outcome, what):
    """`present` too when it was the base that an earlier start had restored: the node compiled the rest itself."""
    lines, code = verdict(f"{restored(outcome, 'why', what=what)}\n{HIT}", "0.33.0")
    assert (lines, code) == (
        [
            f"cache-restore  {outcome}, restored {what}: 218.0 MiB in 1.2 s (why)",
            "engine         full hit, on what this node had: a new node would start cold",
        ],
        1,
    )


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        (log(KEY, AOT, GRAPH, MISS), f"it says: {MISS}"),
        (log(KEY, AOT), "it does not say: Directly load the compiled graph(s) for compile range"),
        (log(KEY, GRAPH), "it does not say: Directly load AOT compilation from path"),
    ],
    ids=["a miss", "inductor silent", "aot silent"],
)
def test_one_layer_is_no_full_hit(engine, why):
    """VLLM_FORCE_AOT_LOAD alone proves one of the two: the other recompiles in silence (vllm.md A12)."""
    assert verdict(f"{restored('hit')}\n{engine}", "0.33.0")[0][1] == f"engine         no full hit: {why}"
    assert verdict(f"{restored('hit')}\n{engine}", "0.33.0")[1] == 1


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        ("", "its start is not in the log"),
        (HIT.removeprefix(FRAME[0]), "its start is not in the log"),
        (HIT.removesuffix(FRAME[1]), "it is not serving yet"),
        (log("nothing"), "it does not compile, so there is no compile cache to hit"),
    ],
    ids=["empty", "cut", "still starting", "eager"],
)
def test_what_a_log_does_not_show_is_not_told(engine, why):
    lines, code = verdict(f"{restored('hit')}\n{engine}", "0.33.0")
    assert (lines[1], code) == (f"engine         cannot tell: {why}", 3)


def test_a_log_without_the_restore_does_not_prove_one(ops, folder):
    """`kubectl logs POD` shows the engine alone: what it hit may have been on its node before."""
    (folder / "log").write_text(HIT)
    assert ops("cache", "verify", "--server", "gemma", "--log", "log") == (
        3,
        "cache-restore  no line in this log\nengine         cannot tell: a full hit, from who knows where; get both"
        " logs: kubectl logs POD --all-containers\n",
        "",
    )
    (folder / "log").write_text(log(MISS))
    assert ops("cache", "verify", "--server", "gemma", "--log", "log")[0] == 1


def test_of_a_log_without_end_the_first_part_is_read(ops, folder, monkeypatch):
    text = f"{restored('hit')}\n{HIT}\n"
    monkeypatch.setattr("ops.cache.verify.MOST", len(text))
    (folder / "log").write_text(text + MISS)
    code, out, err = ops("cache", "verify", "--server", "gemma", "--log", "log")
    assert (code, out.splitlines()[1]) == (0, "engine         full hit")
    assert err == "--log log: only its first 0.0 MiB are read\n"
    assert ops("cache", "verify", "--server", "gemma", "--log", "-", given=text + MISS)[0] == 0


def test_a_log_can_come_from_a_file_or_a_pipe(ops, folder):
    (folder / "log").write_text(f"{restored('hit')}\n{HIT}")
    asked = ("cache", "verify", "--server", "gemma", "--log")
    assert ops(*asked, "log") == ops(*asked, "-", given=f"{restored('hit')}\n{HIT}")
    assert ops(*asked, "log")[0] == 0


def test_a_pods_containers_speak_through_the_api_server(ops, players, kubelet):
    """Init containers and engine of the server's newest pod; kubelet is a stand-in, the API server is real."""
    kubelet.run(players, "old", {"cache": restored("miss"), "vllm": log(MISS)})
    kubelet.run(players, "new", {"cache": restored("hit"), "vllm": HIT})
    asked = ("cache", "verify", "--server", "gemma", "--kubeconfig", players.kubeconfig)
    assert ops(*asked, "--pod", "new") == (
        0,
        "cache-restore  hit, restored fingerprint: 218.0 MiB in 1.2 s\nengine         full hit\n",
        "",
    )
    code, out, _ = ops(*asked, "--pod", "old")
    assert (code, out.splitlines()[1]) == (1, f"engine         no full hit: it says: {MISS}")


def test_without_a_name_the_newest_pod_is_read(ops, players, kubelet):
    import time

    kubelet.run(players, "b-older", {"vllm": log(MISS)})
    time.sleep(1.1)  # creation times have whole seconds
    kubelet.run(players, "a-newer", {"cache": restored("hit"), "vllm": HIT})
    assert ops("cache", "verify", "--server", "gemma", "--kubeconfig", players.kubeconfig)[0] == 0


def test_a_server_without_a_pod_is_a_failed_check(ops, players):
    asked = ("cache", "verify", "--server", "gemma", "--kubeconfig", players.kubeconfig)
    assert ops(*asked) == (1, "", f"servers.gemma: no pod at all in {players.namespace}\n")
    assert ops(*asked, "--pod", "x\ny") == (1, "", f"servers.gemma: no pod x\\ny in {players.namespace}\n")


def test_a_pod_that_waits_for_a_node_has_said_nothing(ops, players):
    players.pod("waits", labels={"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"})
    code, out, _ = ops("cache", "verify", "--server", "gemma", "--kubeconfig", players.kubeconfig)
    assert (code, out.splitlines()[1]) == (3, "engine         cannot tell: its start is not in the log")


def test_a_container_that_waits_for_another_is_unclear(ops, players, kubelet):
    kubelet.run(players, "initializing", {"cache": restored("hit"), "vllm": None})
    code, out, err = ops("cache", "verify", "--server", "gemma", "--kubeconfig", players.kubeconfig)
    assert (code, out) == (3, "")
    assert err.startswith(f"{players.api.url} answers 400: ")
    assert err.count("\n") == 1


def test_a_program_reads_both_lines_and_the_code(ops, folder):
    (folder / "log").write_text(f"{restored('hit')}\n{HIT}")
    code, out, _ = ops("cache", "verify", "--server", "gemma", "--log", "log", "--json")
    assert (code, json.loads(out)) == (
        0,
        {"cacheRestore": "hit, restored fingerprint: 218.0 MiB in 1.2 s", "engine": "full hit", "exitCode": 0},
    )
