"""Every fault ends in one line and an exit code that says whether another run may help; the next run completes it."""

import itertools
import resource
from collections.abc import Callable

import pytest

from local_weights import GIB, room_problem
from tests.serving.scripts.onboard.onboard_case import BUCKET, PREFIX, SHARDS
from tests.serving.scripts.stands.s3 import Fault, Faults, Request
from tests.serving.scripts.stands.s3_writable import Object
from tests.serving.scripts.weights.copy_case import FILES, Node

FIRST = SHARDS[0]
DENIED = Fault(403, "AccessDenied")


def first(times: int, which: Callable[[Request], bool], fault: Fault) -> Faults:
    count = itertools.count()
    return lambda request: fault if which(request) and next(count) < times else None


def of_shard(request: Request) -> bool:
    return request.key == PREFIX + FIRST


def completes(node: Node) -> None:
    node.bucket.faults = lambda _: None
    assert node.run().code == 0
    assert node.tree() == FILES


@pytest.mark.parametrize("fault", [Fault(503, "SlowDown"), Fault(500, "InternalError"), Fault(400, "RequestTimeout")])
@pytest.mark.parametrize("which", [lambda request: request.lists, of_shard], ids=["list", "object"])
def test_what_passes_on_a_later_attempt_is_fetched(node: Node, fault: Fault, which: Callable[[Request], bool]):
    node.bucket.faults = first(2, which, fault)
    assert node.run().outcome == "fetched"
    assert node.tree() == FILES


def test_what_does_not_pass_is_unclear_when_the_patience_is_over(node: Node):
    node.bucket.faults = lambda _: Fault(503, "SlowDown")
    ran = node.run("--patience=1")
    assert (ran.code, ran.outcome) == (3, "unclear")
    assert ran.reason == f"s3://{BUCKET}/: 503 SlowDown (given up after 1 s of patience)"
    assert node.tree() == {}
    completes(node)


@pytest.mark.parametrize(
    ("which", "what"),
    [(lambda request: request.lists, ""), (of_shard, PREFIX + FIRST)],
    ids=["list", "object"],
)
def test_a_refusal_is_one_line_at_once(node: Node, which: Callable[[Request], bool], what: str):
    node.bucket.faults = lambda request: DENIED if which(request) else None
    ran = node.run()
    assert (ran.code, ran.outcome, ran.reason) == (1, "refused", f"s3://{BUCKET}/{what}: 403 AccessDenied")
    completes(node)


def test_a_pod_that_was_admitted_without_an_association_says_so(node: Node):
    node.env = {"AWS_ACCESS_KEY_ID": ""}
    ran = node.run()
    assert (ran.code, ran.outcome) == (3, "unclear")
    assert ran.reason == "no AWS credentials: the pod was admitted without a Pod Identity association"


def test_an_object_that_changes_while_it_is_read_is_never_mixed(node: Node):
    """Two ranges of two objects would make a file that neither of them is."""
    changed = bytes(reversed(FILES[FIRST]))

    def change(request: Request) -> None:
        if of_shard(request) and "bytes=0-" not in request.headers["range"]:
            node.bucket.objects[PREFIX + FIRST] = Object(changed)

    node.bucket.faults = change
    ran = node.run()
    assert (ran.code, ran.outcome) == (3, "unclear")
    assert ran.reason == f"{PREFIX}{FIRST}: another object than was listed; does something write there?"
    assert FIRST not in node.tree()
    assert node.run().code == 0
    assert node.tree() == {**FILES, FIRST: changed}


def test_an_object_that_vanishes_while_the_model_is_copied_ends_the_run(node: Node):
    node.bucket.faults = lambda request: Fault(404, "NoSuchKey") if of_shard(request) else None
    ran = node.run()
    assert (ran.code, ran.reason) == (1, f"s3://{BUCKET}/{PREFIX}{FIRST}: 404 NoSuchKey")
    node.delete(FIRST)
    node.bucket.faults = lambda _: None
    assert node.run().code == 0
    assert node.tree() == {name: body for name, body in FILES.items() if name != FIRST}


def test_a_disk_without_room_is_refused_before_anything_is_written(node: Node):
    ran = node.run("--spare-percent=100")
    assert (ran.code, ran.outcome) == (1, "refused")
    assert ran.reason.startswith("disk: 0.02 GiB to fetch + ")
    assert not [request for request in node.bucket.requests if not request.lists]
    assert (node.tree(), node.arriving()) == ({}, [])
    completes(node)
    # what is there needs no room
    assert node.run("--spare-percent=100").outcome == "present"


def test_the_sum_of_a_full_disk_is_said() -> None:
    assert room_problem(31 * GIB, 80 * GIB, 250 * GIB, 15) is None
    assert room_problem(31 * GIB, 60 * GIB, 250 * GIB, 15) == (
        "disk: 31.00 GiB to fetch + 37.50 GiB that must stay free (15 % of 250.00 GiB) = 68.50 GiB > 60.00 GiB free;"
        " other revisions stay on a node until it goes"
    )


def test_a_disk_that_takes_no_more_bytes_is_refused(node: Node):
    ran = node.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)))
    assert (ran.code, ran.outcome, ran.reason) == (1, "refused", f"{node.root}: File too large")
    assert node.tree() == {}
    completes(node)


def test_an_empty_folder_is_refused(node: Node):
    for name in FILES:
        node.delete(name)
    ran = node.run()
    assert (ran.code, ran.reason) == (1, f"s3://{BUCKET}/{PREFIX} holds nothing; are the weights there?")


@pytest.mark.parametrize("name", ["../up", "a/../../up", "/etc/passwd", "a//b", "./a", "a\nb", "nothing/x/"])
def test_a_key_that_would_be_another_place_than_it_says_is_refused(node: Node, name: str):
    """Root writes there."""
    node.put(name, b"x")
    ran = node.run()
    assert (ran.code, ran.outcome) == (1, "refused")
    shown = f"{name!a}".replace('"', "'")
    assert ran.reason == f"s3://{BUCKET}/{PREFIX}: {shown} cannot be the name of a file"
    assert (node.tree(), node.arriving()) == ({}, [])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--nonsense"], "usage: unrecognized arguments: --nonsense"),
        (["--to=relative"], "usage: --to 'relative': want an absolute path"),
        (["--limit=0"], "usage: argument --limit: 0 is not between 1 and 86400"),
        (["--from=s3://b/x"], "usage: 's3://b/x': expected s3://<bucket>/models/<name>/<revision>/"),
    ],
)
def test_a_wrong_argument_is_usage_and_makes_no_folder(node: Node, more: list[str], reason: str):
    ran = node.run(*more)
    assert (ran.code, ran.outcome, ran.reason) == (2, "refused", reason)
    assert not node.root.exists()


def test_no_secret_is_shown_of_credentials_that_cannot_be_sent(node: Node):
    node.env = {"AWS_SESSION_TOKEN": "SECRET\nTOKEN"}
    ran = node.run()
    said = "AWS_SESSION_TOKEN is empty, or holds white space or other than printable ASCII inside"
    assert (ran.code, ran.reason) == (3, f"no AWS credentials: {said}")
