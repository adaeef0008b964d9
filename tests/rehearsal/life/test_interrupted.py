"""An `up` that does not get to its end: a refusal of the cloud, Ctrl-C, a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehearsal.engine.run import RunFailedError, UsageError
from rehearsal.life import destroy, up
from rehearsal.preview import preview
from rehearsal.providers.journal import FailAt, Journal
from rehearsal.recover import recover
from tests.harness import ROOT, stack_settings
from tests.rehearsal.life.calls import VANISH

CLUSTER = (
    "urn:pulumi:dev::vllm-eks::vllm-eks:infra:Cluster$eks:index:Cluster$aws:eks/cluster:Cluster::cluster-eksCluster"
)
SINGLE = ("aws:ec2/vpc:Vpc", "aws:eks/cluster:Cluster", "aws:s3/bucket:Bucket", "aws:ec2/natGateway:NatGateway")


@pytest.fixture
def whole(brought_up, cloud):
    """Asserts that the cloud of a state folder is what one undisturbed `up` makes: nothing twice, nothing missing."""

    def check(state: Path) -> None:
        def count(found):
            return sorted(kind for kind, _ in found)

        assert count(cloud(state)) == count(cloud(brought_up[0]))
        assert [kind for kind, _ in cloud(state) if kind in SINGLE] != []

    return check


@pytest.mark.parametrize("name", ["cluster-eksCluster", "gemma"])
def test_after_a_refusal_of_the_cloud_a_second_up_finishes_what_the_first_began(name, tmp_path, whole):
    state, first, second = tmp_path / "state", Journal(before=FailAt(name)), Journal()
    with pytest.raises(RunFailedError) as refusal:
        up("dev", project=ROOT, state=state, journal=first)
    assert f"told to fail at {name} (create)" in str(refusal.value)
    up("dev", project=ROOT, state=state, journal=second)
    made = [call.urn for call in (*first.calls, *second.calls)]
    assert len(made) == len(set(made))
    assert first.calls
    assert second.calls
    whole(state)


def test_a_refusal_names_the_resource_in_one_line(tmp_path):
    with pytest.raises(RunFailedError) as refusal:
        up("dev", project=ROOT, state=tmp_path / "state", journal=Journal(before=FailAt("cluster-eksCluster")))
    assert str(refusal.value) == f"{CLUSTER}: told to fail at cluster-eksCluster (create)"


def test_after_a_refusal_in_a_destroy_a_second_destroy_finishes(state, cloud):
    with pytest.raises(RunFailedError, match=r"told to fail at network-nat-us-west-2a \(delete\)"):
        destroy("dev", project=ROOT, state=state, journal=Journal(before=FailAt("network-nat-us-west-2a")))
    assert [key for key in cloud(state) if key[0] == "aws:ec2/natGateway:NatGateway"]
    destroy("dev", project=ROOT, state=state)
    assert [key for key in cloud(state) if key[0] not in VANISH] == []


def resources(state: Path) -> int:
    file = state / "cloud.sqlite"
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM resources").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def children(process: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture
def in_the_middle() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """`in_the_middle(state)`: an `up` in a process of its own that has made some resources and is making more."""
    begun: list[subprocess.Popen[str]] = []

    def start(state: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rehearsal", "up", "--stack", "dev", "--state", str(state)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        begun.append(process)
        deadline = time.monotonic() + 60
        while resources(state) < 8:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no resources after a minute"
            time.sleep(0.01)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_an_interruption_a_second_up_goes_on(number, tmp_path, whole, in_the_middle):
    state = tmp_path / "state"
    process = in_the_middle(state)
    engine = children(process.pid)
    os.kill(process.pid, number)
    stdout, stderr = process.communicate(timeout=60)
    word = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    assert (process.returncode, stdout, stderr) == (128 + number, "", f"\n{word}: run it again to go on in {state}\n")
    assert engine
    assert all(gone(each) for each in engine)
    up("dev", project=ROOT, state=state)
    whole(state)


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from rehearsal import life
from rehearsal.providers.journal import Journal

command, state, verb, urn, project = sys.argv[1:]

def die(done, which):
    # the cloud has changed, and the engine has not heard of it
    if (done, which) == (verb, urn):
        subprocess.run(["pkill", "-KILL", "-P", str(os.getpid())])
        os.kill(os.getpid(), signal.SIGKILL)

getattr(life, command)("dev", project=Path(project), state=Path(state), journal=Journal(after=die))
"""


def kill(command: str, state: Path, verb: str, urn: str, project: Path = ROOT) -> None:
    """Kill engine and rehearsal between the cloud's answer and the engine's next checkpoint."""
    arguments = [command, str(state), verb, urn, str(project)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL


VPC = "urn:pulumi:dev::vllm-eks::vllm-eks:infra:Network$aws:ec2/vpc:Vpc::network"


@pytest.mark.parametrize("urn", [VPC, CLUSTER])
def test_after_a_kill_the_documented_recovery_finds_what_the_state_has_lost(urn, tmp_path, whole, cloud):
    """docs/recovery.md. Without it a second VPC would be made, and the cluster refused as existing."""
    state = tmp_path / "state"
    kill("up", state, "create", urn)
    with pytest.raises(UsageError) as refusal:
        up("dev", project=ROOT, state=state)
    assert str(refusal.value) == (
        f"a rehearsal in {state} was killed: run `python -m rehearsal recover --stack dev --project {ROOT}"
        f" --state {state}` first (docs/recovery.md says what that does)"
    )
    found = {pending.urn: pending.id for pending in recover("dev", project=ROOT, state=state)}
    assert found[urn] in {identifier for _, identifier in cloud(state)}
    up("dev", project=ROOT, state=state)
    whole(state)
    assert preview("dev", project=ROOT, state=state).changes() == ()
    destroy("dev", project=ROOT, state=state)
    assert [key for key in cloud(state) if key[0] not in VANISH] == []


def test_after_a_kill_in_a_destroy_the_state_knows_what_is_gone(state, whole):
    service = "urn:pulumi:dev::vllm-eks::vllm-eks:serving:VllmServer$kubernetes:core/v1:Service::gemma"
    kill("destroy", state, "delete", service)
    assert recover("dev", project=ROOT, state=state) == ()
    plan = up("dev", project=ROOT, state=state)
    assert service in {it.urn for it in plan.resources if it.action == "create"}
    whole(state)


NAT = "urn:pulumi:dev::vllm-eks::vllm-eks:infra:Network$aws:ec2/natGateway:NatGateway::network-nat-us-west-2a"


@pytest.mark.parametrize("urn", [VPC, NAT])
def test_after_a_kill_in_a_replacement_nothing_is_there_twice(urn, state, cloud, stack_file):
    """The VPC's successor comes first, the NAT gateway's after it: the state holds another entry of the same URN."""
    settings = stack_settings("dev")
    settings["network"]["cidr"] = "10.80.0.0/16"
    settings["servers"] = {}
    project = stack_file(settings)
    # without the servers first, and without Kubernetes objects: the engine cannot replace a cluster below them
    kill("up", state, "create", urn, project)
    (found,) = [it for it in recover("dev", project=ROOT, state=state) if it.urn == urn]
    assert found.id in {identifier for _, identifier in cloud(state)}
    destroy("dev", project=ROOT, state=state)
    assert [key for key in cloud(state) if key[0] not in VANISH] == []


def test_after_a_kill_a_secret_input_is_told_from_others(project, tmp_path, cloud):
    program = (
        "import pulumi, pulumi_kubernetes as k8s\n"
        "api = pulumi.ResourceOptions(provider=k8s.Provider('api', kubeconfig='{}'))\n"
        "for name in ('one', 'two'):\n"
        "    data = {'a': pulumi.Output.secret(name)}\n"
        "    k8s.core.v1.Secret(name, metadata={'name': name}, string_data=data, opts=api)\n"
    )
    place, state = project(program), tmp_path / "state"
    urn = "urn:pulumi:dev::own::kubernetes:core/v1:Secret::two"
    kill("up", state, "create", urn, place)
    assert {it.id for it in recover("dev", project=place, state=state) if it.urn == urn} == {"default/two"}
    up("dev", project=place, state=state)
    assert len([key for key in cloud(state) if key[0] == "kubernetes:core/v1:Secret"]) == 2


def test_a_recovery_that_fails_leaves_the_stack_locked(tmp_path, monkeypatch):
    state = tmp_path / "state"
    kill("up", state, "create", VPC)
    monkeypatch.setattr("rehearsal.recover.settled", lambda *_: {"resources": [{"urn": "nonsense"}]})
    with pytest.raises(RunFailedError):
        recover("dev", project=ROOT, state=state)
    monkeypatch.undo()
    with pytest.raises(UsageError, match=r"was killed: run `python -m rehearsal recover"):
        up("dev", project=ROOT, state=state)
    recover("dev", project=ROOT, state=state)
    up("dev", project=ROOT, state=state)


def test_a_killed_rehearsal_leaves_no_engine_behind(tmp_path, in_the_middle):
    process = in_the_middle(tmp_path / "state")
    engine = children(process.pid)
    assert engine
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 20
    while not all(gone(each) for each in engine):
        assert time.monotonic() < deadline, "the engine is still there"
        time.sleep(0.05)


def test_two_rehearsals_in_one_folder_do_not_meet(tmp_path, in_the_middle):
    state = tmp_path / "state"
    process = in_the_middle(state)
    with pytest.raises(UsageError) as refusal:
        up("dev", project=ROOT, state=state)
    assert str(refusal.value) == f"{state} is in use by another rehearsal"
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")
    assert "brought up in" in stdout


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(UsageError) as refusal:
        up("dev", project=ROOT, state=tmp_path)
    assert str(refusal.value) == (f"{tmp_path} holds something else: --state wants a new folder, or one of a rehearsal")
    assert [it.name for it in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("command", ["destroy", "recover"])
def test_what_never_came_up_is_neither_destroyed_nor_recovered(command, run, tmp_path):
    done = run(command, "--stack", "dev", "--state", str(tmp_path / "typo"))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{tmp_path / 'typo'} holds no rehearsal\n")
    assert list(tmp_path.glob("typo")) == []


def test_a_failure_that_meets_nothing_is_a_mistake_and_no_success(run, project, tmp_path):
    done = run("up", "--stack", "dev", "--project", str(project("import pulumi\n")), "--fail-at", "nosuch")
    assert done.returncode == 2
    assert done.stderr == "--fail-at nosuch: no resource of that name or URN was created, changed or removed\n"


def test_a_damaged_or_lost_cloud_is_one_line(state):
    file = state / "cloud.sqlite"
    file.write_text("garbage" * 100)
    with pytest.raises(UsageError) as refusal:
        up("dev", project=ROOT, state=state)
    assert str(refusal.value) == f"{file} is damaged: file is not a database"
    file.unlink()
    with pytest.raises(UsageError) as refusal:
        up("dev", project=ROOT, state=state)
    assert str(refusal.value) == f"{file} is missing: the stacks in {state} have lost their cloud"


def test_a_folder_with_secrets_is_its_owner_s_alone(tmp_path, project):
    up("dev", project=project("import pulumi\n"), state=tmp_path / "state")
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
