"""The pre-pull script, run with stand-ins for what it calls: it never blocks, never fails, and always signs out."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infra.node_boot import NodeBoot, user_data
from infra.node_boot.prepull import LIMIT, PROGRAM, UNIT
from tests.harness import ROOT
from tests.infra.node_boot.test_user_data import DIGEST, ENGINE, PROXY, parts

SCRIPT = ROOT / "infra" / "node_boot" / "prepull.sh"
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
ECR = ENGINE.partition("/")[0]
CHINA = "111111111111.dkr.ecr.cn-north-1.amazonaws.com.cn/x/y:1"
DUAL_STACK = "111111111111.dkr-ecr.eu-west-1.on.aws/x/y:1"

# each call is one line of the log; nerdctl keeps what it signed in to in a file, as the real one does
AWS = """#!/bin/bash
echo "aws $*" >>"$LOG"
[[ -e $STATE/no-password ]] && exit 1
echo "password-$(grep -c '^aws' "$LOG")"
"""
NERDCTL = """#!/bin/bash
# both ends of a pipe start at once: this one has its turn when it has read
[[ $1 != login ]] || read -r password || exit 1
echo "nerdctl $*" >>"$LOG"
case $1 in
login)
    echo "${@: -1} $password" >>"$DOCKER_CONFIG/config.json"
    ;;
logout)
    [[ -e $STATE/no-logout ]] && exit 1
    rm -f "$DOCKER_CONFIG/config.json"
    ;;
*)
    [[ -e $STATE/hangs ]] && { touch "$STATE/hanging"; exec sleep 60; }
    left=$(cat "$STATE/failures")
    ((left == 0)) || { echo $((left - 1)) >"$STATE/failures"; echo "401 Unauthorized" >&2; exit 1; }
    [[ ${*: -1} == *.dkr.ecr.* && ! -s $DOCKER_CONFIG/config.json ]] && exit 1
    exit 0
    ;;
esac
"""
SLEEP = """#!/bin/bash
[[ $1 == 60 ]] && exec /bin/sleep 60
echo "sleep $*" >>"$LOG"
"""
SYSTEMD_RUN = """#!/bin/bash
printf '%s\\n' "$@" >"$LOG"
exit "$(cat "$STATE/failures")"
"""


@dataclass
class Node:
    """A folder that stands for a node."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def calls(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def signed_in(self) -> bool:
        return (self.folder / "runtime" / "config.json").exists()

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *images: str) -> tuple[int, list[str]]:
        process = self.start("bash", str(SCRIPT), *images)
        said, _ = process.communicate(timeout=20)
        # how long it took is the clock's to say
        return process.returncode, re.sub(r"\b[0-9]+ s\b", "N s", said).splitlines()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    for name in ("bin", "runtime", "state"):
        (tmp_path / name).mkdir()
    for name, text in (("aws", AWS), ("nerdctl", NERDCTL), ("sleep", SLEEP), ("systemd-run", SYSTEMD_RUN)):
        program = tmp_path / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    (tmp_path / "state" / "failures").write_text("0")
    return Node(
        tmp_path,
        {
            # as systemd starts it: no HOME but the one of the unit
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "HOME": "/root",
            "RUNTIME_DIRECTORY": str(tmp_path / "runtime"),
            "LOG": str(tmp_path / "log"),
            "STATE": str(tmp_path / "state"),
        },
    )


def fail(node: Node, times: int) -> None:
    (node.folder / "state" / "failures").write_text(str(times))


def test_each_image_is_pulled_into_kubelet_s_namespace_and_it_signs_out(node: Node) -> None:
    code, said = node.run(ENGINE, PROXY)
    assert code == 0
    assert said == [f"prepull: pulled {ENGINE} in N s at attempt 1", f"prepull: pulled {PROXY} in N s at attempt 1"]
    assert node.calls == [
        "aws ecr get-login-password --region us-west-2",
        f"nerdctl login --username AWS --password-stdin https://{ECR}",
        f"nerdctl --namespace k8s.io pull --quiet {ENGINE}",
        f"nerdctl --namespace k8s.io pull --quiet {PROXY}",
        f"nerdctl logout {ECR}",
    ]
    assert not node.signed_in


def test_no_password_is_asked_for_where_none_is_needed(node: Node) -> None:
    assert node.run(PROXY, DIGEST, "vllm/vllm-openai:v0.33.0", "nginx:1")[0] == 0
    assert [call.split()[0:4] for call in node.calls] == [["nerdctl", "--namespace", "k8s.io", "pull"]] * 4


def test_the_region_of_the_password_is_the_registry_s(node: Node) -> None:
    assert node.run(CHINA)[0] == 0
    assert node.calls[0] == "aws ecr get-login-password --region cn-north-1"


def test_an_image_by_the_dual_stack_name_of_its_registry_is_signed_in_for(node: Node) -> None:
    """Kubelet's credential provider knows both names (aws.md 3)."""
    assert node.run(DUAL_STACK)[0] == 0
    assert node.calls[0] == "aws ecr get-login-password --region eu-west-1"
    assert any(call.startswith("nerdctl login") and "111111111111.dkr-ecr" in call for call in node.calls)


def test_a_registry_that_comes_back_is_asked_again(node: Node) -> None:
    fail(node, 2)
    code, said = node.run(PROXY)
    assert code == 0
    assert said == [
        f"prepull: attempt 1 of 5 failed for {PROXY}",
        f"prepull: attempt 2 of 5 failed for {PROXY}",
        f"prepull: pulled {PROXY} in N s at attempt 3",
    ]
    assert [call for call in node.calls if call.startswith("sleep")] == ["sleep 4", "sleep 8"]


def test_an_expired_password_is_replaced(node: Node) -> None:
    fail(node, 1)
    assert node.run(ENGINE)[0] == 0
    assert len([call for call in node.calls if call.startswith("aws")]) == 2
    assert node.calls[-1] == f"nerdctl logout {ECR}"
    assert not node.signed_in


@pytest.mark.parametrize("fault", ["failures", "no-password"])
def test_a_registry_that_stays_away_ends_in_bounded_time_and_without_a_failure(node: Node, fault: str) -> None:
    (node.folder / "state" / fault).write_text("999")
    code, said = node.run(ENGINE, PROXY)
    assert code == 0
    assert f"prepull: gave up on {ENGINE} after N s" in said
    pulls = [call for call in node.calls if f"pull --quiet {ENGINE}" in call]
    assert len(pulls) == (5 if fault == "failures" else 0)
    # the next image gets its chance
    assert [call for call in node.calls if PROXY in call]
    assert not node.signed_in


def test_one_that_cannot_sign_out_says_so(node: Node) -> None:
    (node.folder / "state" / "no-logout").touch()
    code, said = node.run(ENGINE)
    assert code == 0
    assert said[-1] == f"prepull: still signed in to {ECR}"


def test_a_stop_ends_it_at_once_and_it_signs_out(node: Node) -> None:
    (node.folder / "state" / "hangs").touch()
    process = node.start("bash", str(SCRIPT), ENGINE)
    for _ in range(400):
        if (node.folder / "state" / "hanging").exists():
            break
        time.sleep(0.02)
    assert node.signed_in
    started = time.monotonic()
    # as systemd stops a unit: every process of it, so also the group of its own that `timeout` makes
    for group in (process.pid, *children(process.pid)):
        os.killpg(group, signal.SIGTERM)
    said, _ = process.communicate(timeout=20)
    assert time.monotonic() - started < 5
    assert process.returncode == 0
    assert said.splitlines()[-1] == "prepull: stopped"
    assert node.calls[-1] == f"nerdctl logout {ECR}"
    assert not node.signed_in


def children(of: int) -> list[int]:
    listed = Path(f"/proc/{of}/task/{of}/children").read_text()
    assert listed, "nothing runs below it: nothing would be stopped"
    return [int(number) for number in listed.split()]


def test_what_a_kill_leaves_is_in_the_unit_s_own_folder_and_goes_with_it(node: Node) -> None:
    """In /root/.docker/config.json an expired password would shadow kubelet's on every later pull (aws.md 0.9b)."""
    text = user_data(NodeBoot(os="al2023", parallel_pull=False, prepull=(ENGINE,)))
    assert f"--property=RuntimeDirectory={UNIT}" in text
    assert ".docker/config.json" not in text
    del node.environment["RUNTIME_DIRECTORY"]
    code, _ = node.run(ENGINE)
    assert code != 0
    assert node.calls == []


def shell_part() -> str:
    (_, shell) = parts(user_data(NodeBoot(os="al2023", parallel_pull=False, prepull=(ENGINE, PROXY))))
    return str(shell.get_payload())


@pytest.mark.parametrize("code", [0, 1])
def test_cloud_init_only_registers_the_unit_and_goes_on(node: Node, code: int) -> None:
    """After cloud-init kubelet starts: what blocks here, or fails, keeps the node out of the cluster."""
    fail(node, code)
    assert PROGRAM.startswith("/usr/local/bin/")
    part = node.folder / "part"
    program = node.folder / "program"
    part.write_text(shell_part().replace(PROGRAM, str(program)))
    part.chmod(0o755)
    process = node.start(str(part))
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert program.read_text() == SCRIPT.read_text()
    assert os.access(program, os.X_OK)
    assert node.calls == [
        "--no-block",
        f"--unit={UNIT}",
        "--setenv=HOME=/root",
        f"--property=RuntimeDirectory={UNIT}",
        "--property=RuntimeDirectoryMode=0700",
        f"--property=RuntimeMaxSec={LIMIT}",
        "--property=Requires=nodeadm-run.service",
        "--property=After=nodeadm-run.service",
        str(program),
        ENGINE,
        PROXY,
    ]


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    """With every check but the one that wants braces around each variable."""
    part = tmp_path / "part.sh"
    part.write_text(shell_part())
    for script in (SCRIPT, part):
        command = [str(SHELLCHECK), "--shell=bash", "--enable=all", "--exclude=SC2250", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")
