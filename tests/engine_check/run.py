"""All checks in order, over as few starts of the engine as they need.

1  on-request: from the first sidecar to the first token, sleeping, the stub's assumptions; then it is killed
2  the same pod again, then its agent with `wake: external`; ended as kubelet ends a pod
3  beside 2: an engine that does not sleep, for what the stub assumes of one, and of SIGTERM
4  a plain one of each version that there is for CPUs, for what `ops` reads in its log and asks of it
"""

import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rehearsal.toolchain.progress import clock
from serving.front.containers import AGENT, API_TOKEN
from tests.engine_check import starts
from tests.engine_check.assumptions.subject import WITHOUT_DEVELOPMENT, Stub, Subject
from tests.engine_check.assumptions.table import DEVELOPMENT, LAST, PLAIN, Assumption
from tests.engine_check.checks import ending, front, sleeping
from tests.engine_check.checks.external import External, differences
from tests.engine_check.client import until
from tests.engine_check.environment import Engine
from tests.engine_check.pod.cluster import Cluster
from tests.engine_check.pod.kubelet import Kubelet
from tests.engine_check.pod.rendered import PORTS, Scratch, Wake, rendered
from tests.engine_check.scene import ENGINE, Scene, in_its_sleep
from tests.serving.front.pod import free_ports

SLEEPS = ("front-proxy", "node-cache", "sleep-mode")
DOES_NOT = ("front-proxy", "node-cache")
PODS: tuple[tuple[tuple[str, ...], Wake], ...] = (
    (SLEEPS, "on-request"),
    (SLEEPS, "external"),
    (DOES_NOT, "on-request"),
)
"""All that are rendered."""


class Report:
    """One line for each check."""

    def __init__(self) -> None:
        self.total = self.passed = 0

    @property
    def good(self) -> bool:
        """All that ran went well."""
        return 0 < self.total == self.passed

    def check(self, name: str, done: Callable[[], object]) -> None:
        """Run one, and say how it went."""
        began, problem = time.monotonic(), ""
        try:
            done()
        except Exception as error:  # one that fails must not keep the others from running
            problem = f"{type(error).__name__}: {error}"
        self.total += 1
        self.passed += not problem
        print(f"{'FAIL' if problem else 'ok  '} {name} ({clock(time.monotonic() - began)})", flush=True)
        if problem:
            print(f"     {problem[:2000]}", flush=True)

    def all(self, title: str, scene: Scene, checks: Iterable[Callable[[Scene], object]]) -> None:
        """Run some over a pod."""
        for one in checks:
            self.check(f"{title}: {one.__name__.replace('_', ' ')}", lambda one=one: one(scene))


def run(folder: Path, engine: Engine, report: Report) -> None:
    """Run everything. `folder`: scratch."""
    with ExitStack() as ends:
        cluster = Cluster(folder / "cluster")
        ends.callback(cluster.close)
        scratch = Scratch(
            folder=folder,
            engine=engine,
            ports=dict(zip(PORTS, free_ports(len(PORTS)), strict=True)),
            cluster=cluster.environment,
        )
        pod = rendered(scratch, SLEEPS)
        external = rendered(scratch, SLEEPS, "external")
        cluster.project(scratch.volume(API_TOKEN))
        print(f"engine-check: dropped, because a CPU refuses it: {' '.join(pod[ENGINE].dropped)}", flush=True)
        scene = Scene(scratch, Kubelet(pod, folder / "logs"))
        ends.callback(scene.kubelet.close)
        report.all("front", scene, front.CHECKS)
        scene.kubelet.start(ENGINE)
        stubs = _asked_of_stubs(folder)
        report.all("front", scene, front.BEHIND)
        report.all("on-request", scene, sleeping.CHECKS)
        past = len(scene.calls())
        _compare(report, DEVELOPMENT, stubs, Subject(port=scene.engine, terminate=_nothing, ended=lambda: 0))
        ending.PAST[:] = in_its_sleep(scene.calls()[past:])
        report.check("the engine's log tells of requests in its sleep", lambda: _seen(ending.PAST))
        report.all("on-request", scene, sleeping.AGAIN)
        report.all("killed", scene, ending.KILLED)
        plain = _plain(scratch, folder, ends)
        report.all("killed", scene, ending.BACK)
        report.check("external: the agent is all that differs", lambda: _same(differences(pod, external), [AGENT]))
        scene.kubelet.send(AGENT, signal.SIGTERM)
        scene.kubelet.ended(AGENT, 30)
        scene.kubelet.containers = external
        report.all("external", scene, External(cluster).checks)
        _compare(report, [*PLAIN, *LAST], stubs, plain())
        report.all("ended", scene, ending.ORDERED)
    starts.run(folder, report.check)


def _asked_of_stubs(folder: Path) -> dict[str, Any]:
    """Return the stub's answers by question."""
    found: dict[str, Any] = {}
    for number, (table, knobs) in enumerate(((DEVELOPMENT, {}), ([*PLAIN, *LAST], WITHOUT_DEVELOPMENT))):
        stub = Stub(free_ports(1)[0], folder / f"stub-{number}", knobs)
        try:
            for one in table:
                found[one.what] = _answer(one, stub.subject)
        finally:
            stub.close()
    return found


def _answer(assumption: Assumption, subject: Subject) -> Any:
    try:
        return assumption.ask(subject)
    except Exception as error:  # so does a subject that answers what nobody reads
        return f"{type(error).__name__}: {error}"


def _compare(report: Report, table: Sequence[Assumption], stubs: dict[str, Any], engine: Subject) -> None:
    for one in table:
        answer = _answer(one, engine)
        wrong = one.verdict(stubs[one.what], answer)
        known = f", known to differ: {one.why}" if one.known else ""
        report.check(f"stub: {one.what}: {answer}{known}", lambda wrong=wrong: _same(wrong, ""))


def _plain(scratch: Scratch, folder: Path, ends: ExitStack) -> Callable[[], Subject]:
    """Start an engine that does not sleep, beside the other one; return what waits for it."""
    other = replace(scratch, ports=dict(zip(PORTS, free_ports(len(PORTS)), strict=True)))
    container = rendered(replace(other, folder=folder / "plain"), DOES_NOT)[ENGINE]
    kubelet = Kubelet({ENGINE: container}, folder / "logs-plain")
    ends.callback(kubelet.close)
    kubelet.start(ENGINE)
    scene = Scene(other, kubelet)

    def ready() -> Subject:
        until(lambda: kubelet.probe(ENGINE, "startup").good, "the engine that does not sleep does not start", 300)
        return Subject(
            port=scene.engine,
            terminate=lambda: kubelet.send(ENGINE, signal.SIGTERM),
            ended=lambda: kubelet.ended(ENGINE, 120),
        )

    return ready


def _same(found: object, expected: object) -> None:
    assert found == expected, found


def _seen(found: object) -> None:
    assert found, "it does not"


def _nothing() -> None:
    pass
