"""What a comment says to do: weights, a cache, what is in the way of it; and what it says of nodes and old pods."""

from ops.impact.drift import CLASS_TYPE
from ops.impact.output.report import report
from serving.server.demand import build_path
from tests.ops.impact.output.test_report import KEYS, lines
from tests.ops.impact.plans import changed, pod, predicted, server, spec
from tests.ops.impact.servers.test_drift import larger_disk, system_nodes
from tests.ops.impact.servers.test_servers import MISSES, flag, keeps


def test_user_data_is_told_by_its_lines_in_the_short_part_and_all_of_them_in_the_details():
    def lines_of(count):
        return lambda it: spec(it, CLASS_TYPE).update(userData="\n".join(["#!/bin/sh", *map(str, range(count))]))

    short, _, details = report(changed(lines_of(5), before=lines_of(0))).partition("<details>")
    assert "`EC2NodeClass userData` changed: `+ 0`, `+ 1`, `+ 2`, 2 more lines\n" in short
    assert "- `EC2NodeClass userData` changed: `+ 0`, `+ 1`, `+ 2`, `+ 3`, `+ 4` (all)\n" in details


def new(techniques="node-cache,cache-restore", model="s3://models/more/", warned=()):
    """A comment about a server that comes, beside one that has the model `s3://models/chat/`."""

    def come(document):
        document["resources"].append(server("more", action="create"))
        document["outputs"]["servers"]["more"] = {"predicted": predicted(freshNode=176.0)}
        document["messages"] = [{"severity": "warning", "text": it, "urn": None} for it in warned]
        keeps(techniques)(document)

    return report(changed(come, tree=lambda it: it["servers"].update(more={"model": {"uri": model}})))


def test_a_new_server_says_how_its_weights_and_its_cache_come():
    assert "  - weights: no server had `s3://models/more/` before; " in new()
    assert (
        ".venv/bin/python -m ops weights onboard --server more --stack dev --repository OWNER/NAME --revision COMMIT`\n"
        in new()
    )
    assert "  - cache: `.venv/bin/python -m ops cache build --server more --stack dev` right after `up`\n" in new()
    assert "weights:" not in new(model="s3://models/chat/")


def test_a_server_that_restores_nothing_waits_for_no_build():
    assert "- **`more`**: new; it serves about 176 s after `up` from nothing\n" in new("node-cache")
    assert "cache build" not in new("node-cache")
    asked = {"keys": KEYS, "misses": MISSES, "before": keeps("node-cache")}
    assert lines(flag, "about", **asked) == [
        "  - nothing serves for about 157 s (restart on g6e.2xlarge: 77 s + 80 s to compile, once on each node),"
        " at the rollout, which ends the old pods first"
    ]


def test_a_build_that_finds_no_gpu_is_said_where_the_build_is_named_also_when_it_was_so_before():
    no_room = {"severity": "warning", "text": f"{build_path('chat')}: chat 2 x 1 = 3 GPUs > 2", "urn": None}
    (line,) = lines(flag, "- cache:", keys=KEYS, misses=MISSES, before=lambda it: it["messages"].append(no_room))
    assert line.endswith(" right after `up`. It finds no GPU: `chat 2 x 1 = 3 GPUs > 2`")
    assert "It finds no GPU: `1 = 3 GPUs > 2`\n" in new(warned=[f"{build_path('more')}: 1 = 3 GPUs > 2"])


def test_the_same_starts_are_said_of_those_that_stood_before():
    assert "**Predicted starts of `chat`**: the same.\n\n**Predicted starts of `more`** in seconds" in new()


def test_the_end_of_the_old_pod_is_told_with_its_source():
    def ends(document):
        pod(document)["terminationGracePeriodSeconds"] = 80

    assert lines(flag, "about", before=ends) == [
        "  - nothing serves for about 157 s (the old pod ends: up to 80 s + restart on g6e.2xlarge: 77 s), at the"
        " rollout, which ends the old pods first"
    ]


def test_system_nodes_are_among_those_that_are_replaced():
    assert lines(larger_disk, "- system nodes", before=system_nodes) == [
        "- system nodes `system`: all 2, with `up`, no server runs there: `launch template ebs.volumeSize` `50` -> `60`"
    ]
