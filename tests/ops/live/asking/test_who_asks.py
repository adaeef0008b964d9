"""Credentials that are none, or end: one line and exit code 3 from each of the four commands."""

import pytest

from ops.aws import SIGN_IN
from rehearsal.control_plane.server import free_ports

COMMANDS = (("try",), ("status",), ("sleep", "--yes"), ("wake", "--yes"))


@pytest.fixture
def asked(ops, stand, sleeping_stack):
    return lambda command, *more: ops(*command, "--server", "gemma", *more)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda it: it[0])
def test_a_token_that_has_expired(asked, stand, folder, command):
    path = folder / "kubeconfig"
    path.write_text(path.read_text().replace(stand.players.api.token, "expired"))
    code, out, err = asked(command, "--kubeconfig", str(path))
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == f"{stand.players.api.url} does not know you: Unauthorized"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda it: it[0])
def test_no_credentials_at_all(asked, command):
    code, out, err = asked(command)
    assert (code, out, err) == (3, "", f"cluster inference-dev in us-west-2: Unable to locate credentials; {SIGN_IN}\n")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda it: it[0])
def test_a_control_plane_that_is_not_there(asked, stand, folder, command):
    (dead,) = free_ports(1)
    path = folder / "kubeconfig"
    path.write_text(path.read_text().replace(stand.players.api.url, f"https://127.0.0.1:{dead}"))
    code, out, err = asked(command, "--kubeconfig", str(path))
    assert (code, out) == (3, "")
    assert err.splitlines()[-1].startswith(f"https://127.0.0.1:{dead} does not answer: ")
