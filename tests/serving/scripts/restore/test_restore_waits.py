"""What a restore waits for, and for how long: never beyond its limit.

All of it at once: the runs wait and use no CPU, so together they cost the longest of them.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.serving.scripts.restore.rig import Rig, Run, archive, content, publish
from tests.serving.scripts.stands.agent import Agent, agent
from tests.serving.scripts.stands.s3 import S3, Fault, Request

ALL = content()
LATE = 10.0
"""Seconds without credentials."""


class Waiting(NamedTuple):
    rig: Rig
    s3: S3
    late: Agent
    never: Agent


class Waited(NamedTuple):
    run: Run
    on: Waiting


def archives(fault: Fault) -> Callable[[Request], Fault | None]:
    return lambda request: fault if request.key.endswith(".tar") else None


def overloaded(on: Waiting) -> Run:
    on.s3.faults = archives(Fault(status=503, code="SlowDown"))
    return on.rig.run("--limit", "2")


def slow(on: Waiting) -> Run:
    on.s3.faults = archives(Fault(rate=20_000))
    return on.rig.run("--limit", "2")


def silent(on: Waiting) -> Run:
    on.s3.latency = 30
    return on.rig.run("--limit", "2")


def absent(on: Waiting) -> Run:
    on.rig.url = "http://127.0.0.1:9"
    return on.rig.run("--limit", "2")


def late_credentials(on: Waiting) -> Run:
    on.rig.env = on.late.env(on.rig.bucket.parent)
    return on.rig.run()


def no_credentials(on: Waiting) -> Run:
    on.rig.env = on.never.env(on.rig.bucket.parent)
    return on.rig.run("--limit", "2")


CASES = (overloaded, slow, silent, absent, late_credentials, no_credentials)


@pytest.fixture(scope="module")
def waited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Waited]]:
    with ExitStack() as stack, ThreadPoolExecutor(len(CASES)) as pool:
        late, never = stack.enter_context(agent(LATE)), stack.enter_context(agent(60))

        def prepared(folder: Path) -> Waiting:
            publish(folder / "bucket", archive(ALL), len(ALL))
            s3 = S3(folder / "bucket")
            stack.callback(s3.close)
            return Waiting(Rig(bucket=s3.folder, node=folder / "node", url=s3.url), s3, late, never)

        prepares = {case.__name__: prepared(tmp_path_factory.mktemp(case.__name__)) for case in CASES}
        runs = {case.__name__: pool.submit(case, prepares[case.__name__]) for case in CASES}
        yield {name: Waited(run.result(), prepares[name]) for name, run in runs.items()}


def test_a_bucket_that_stays_overloaded_is_a_timeout_with_its_reason(waited: dict[str, Waited]):
    run, on = waited["overloaded"]
    assert (run.outcome, on.rig.tree()) == ("timeout", {})
    assert "503 SlowDown" in run.reason


def test_a_slow_bucket_never_holds_the_pod_beyond_the_limit(waited: dict[str, Waited]):
    run, on = waited["slow"]
    assert (run.outcome, on.rig.tree()) == ("timeout", {})
    assert run.wall > 1


def test_a_bucket_that_never_answers_is_a_timeout(waited: dict[str, Waited]):
    assert waited["silent"].run.outcome == "timeout"


def test_an_endpoint_that_nobody_listens_on_is_a_timeout(waited: dict[str, Waited]):
    assert "refused" in waited["absent"].run.reason


def test_credentials_that_come_after_ten_seconds_are_waited_for(waited: dict[str, Waited]):
    run, on = waited["late_credentials"]
    assert (run.outcome, on.rig.tree()) == ("hit", ALL)
    assert LATE - 1 < run.wall < LATE + 3
    assert set(on.late.tokens) == {"pod-token"}
    assert {request.headers["x-amz-security-token"] for request in on.s3.requests} == {"t"}


def test_credentials_that_never_come_are_reported(waited: dict[str, Waited]):
    run = waited["no_credentials"].run
    assert run.outcome == "no-credentials"
    assert run.reason.endswith("404 not yet")


@pytest.mark.parametrize("name", [case.__name__ for case in CASES if case is not late_credentials])
def test_nothing_holds_the_pod_beyond_the_limit(name: str, waited: dict[str, Waited]):
    """The limit counts from the program's start, which several at once delay."""
    assert waited[name].run.wall < 2 + 1.5
