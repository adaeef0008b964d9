"""An `up` that does not get to its end: a refusal of the cloud, Ctrl-C, a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehearsal.engine.run import RunFailedError, UsageError
from rehearsal.life import destroy, up
from rehearsal.preview import preview
from rehearsal.providers.journal import Journal, fail_at
from rehearsal.recover import recover
from tests.harness import ROOT

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
    state, first, second = tmp_path / "state", Journal(before=fail_at(name)), Journal()
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
        up("dev", project=ROOT, state=tmp_path / "state", journal=Journal(before=fail_at("cluster-eksCluster")))
    assert str(refusal.value) == f"{CLUSTER}: told to fail at cluster-eksCluster (create)"


def test_after_a_refusal_in_a_destroy_a_second_destroy_finishes(state, cloud):
    with pytest.raises(RunFailedError, match=r"told to fail at network-nat-us-west-2a \(delete\)"):
        destroy("dev", project=ROOT, state=state, journal=Journal(before=fail_at("network-nat-us-west-2a")))
    assert [key for key in cloud(state) if key[0] == "aws:ec2/natGateway:NatGateway"]
    destroy("dev", project=ROOT, state=state)
    assert [key for key in cloud(state) if not key[0].startswith("aws:s3/bucket")] == []


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


def in_the_middle(state: Path) -> subprocess.Popen[str]:
    """An `up` in a process of its own that has made some of its resources and is making more."""
    command = [sys.executable, "-m", "rehearsal", "up", "--stack", "dev", "--state", str(state)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while resources(state) < 8:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no resources after a minute"
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_an_interruption_a_second_up_goes_on(number, tmp_path, whole):
    state = tmp_path / "state"
    process = in_the_middle(state)
    engine = children(process.pid)
    os.kill(process.pid, number)
    stdout, stderr = process.communicate(timeout=60)
    word = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    assert (process.returncode, stdout, stderr) == (128 + number, "", f"\n{word}: run it again to go on in {state}\n")
    assert engine
    assert all(gone(each) for each in engine)
    assert resources(state) < 60
    up("dev", project=ROOT, state=state)
    whole(state)


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from rehearsal.life import up
from rehearsal.providers.journal import Journal

def die(verb, urn):
    # the cloud has changed, and the engine has not heard of it
    if urn == sys.argv[2]:
        subprocess.run(["pkill", "-KILL", "-P", str(os.getpid())])
        os.kill(os.getpid(), signal.SIGKILL)

up("dev", state=Path(sys.argv[1]), journal=Journal(after=die))
"""
VPC = "urn:pulumi:dev::vllm-eks::vllm-eks:infra:Network$aws:ec2/vpc:Vpc::network"


@pytest.mark.parametrize("urn", [VPC, CLUSTER])
def test_after_a_kill_the_documented_recovery_finds_what_the_state_has_lost(urn, tmp_path, whole, cloud):
    """docs/recovery.md. Without it a second VPC would be made, and the cluster refused as existing."""
    state = tmp_path / "state"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(state), urn], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(UsageError) as refusal:
        up("dev", project=ROOT, state=state)
    assert str(refusal.value) == (
        f"a rehearsal in {state} was killed: run `python -m rehearsal recover --stack dev --state {state}` first"
        " (docs/recovery.md says what that does)"
    )
    found = {pending.urn: pending.id for pending in recover("dev", project=ROOT, state=state)}
    assert found[urn] in {identifier for _, identifier in cloud(state)}
    up("dev", project=ROOT, state=state)
    whole(state)
    assert preview("dev", project=ROOT, state=state).changes() == ()
    destroy("dev", project=ROOT, state=state)
    assert [key for key in cloud(state) if not key[0].startswith("aws:s3/bucket")] == []


def test_a_killed_rehearsal_leaves_no_engine_behind(tmp_path):
    process = in_the_middle(tmp_path / "state")
    engine = children(process.pid)
    assert engine
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 20
    while not all(gone(each) for each in engine):
        assert time.monotonic() < deadline, "the engine is still there"
        time.sleep(0.05)


def test_two_rehearsals_in_one_folder_do_not_meet(tmp_path):
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
