"""`--kubeconfig` of somebody: whatever is in it, one line, and never a token in it."""

from contextlib import contextmanager

import pytest
import yaml

from rehearsal.control_plane.server import free_ports
from tests.serving.scripts.stands.loopback import Quiet, Server

BUILD = ("cache", "build", "--server", "gemma", "--kubeconfig", "kc")
PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1"}


@contextmanager
def answering(status, body):
    """The address of a server that answers everything so."""

    class Handler(Quiet):
        def do_GET(self):
            self.answer(status, body.encode())

    server = Server(("127.0.0.1", 0), Handler)
    server.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.stop()


@pytest.fixture
def built(ops, folder):
    """`built(config)`: `ops cache build` with this kubeconfig, as text or tree."""

    def run(config):
        (folder / "kc").write_text(config if isinstance(config, str) else yaml.safe_dump(config))
        return ops(*BUILD)

    return run


@pytest.fixture
def dead():
    """A kubeconfig of a server that nobody answers for, and what is said of it."""
    (port,) = free_ports(1)
    url = f"https://127.0.0.1:{port}"
    tree = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    said = f"{url} does not answer: Failed to establish a new connection: [Errno 111] Connection refused"
    return tree, said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not a mapping; expected a kubeconfig"),
        ("just text", "not a mapping; expected a kubeconfig"),
        ("[a, b]", "not a mapping; expected a kubeconfig"),
        ("nonsense: [", "not YAML: expected the node content, but found '<stream end>'"),
        ('token: !x "secret', "not YAML: found unexpected end of stream"),
        ("{}", "current-context: missing"),
        ("current-context: x\ncontexts: []\n", "current-context: x: contexts has none of this name"),
        ("current-context: x\ncontexts: {a: b}\n", "current-context: x: contexts has none of this name"),
        ("current-context: x\ncontexts: [{name: x, context: {}}]\n", "contexts.x.cluster: missing"),
    ],
    ids=["empty", "text", "a list", "no yaml", "cut", "a mapping", "no context", "no list", "no cluster"],
)
def test_a_file_that_is_no_kubeconfig_is_one_line(built, content, said):
    assert built(content) == (2, "", f"--kubeconfig kc: {said}\n")


@pytest.mark.parametrize(
    ("kind", "entry", "said"),
    [
        ("cluster", {}, "clusters.c.server: no address; expected https://<host>:<port>"),
        ("cluster", {"server": "cluster:443"}, "clusters.c.server: no address; expected https://<host>:<port>"),
        (
            "user",
            {"auth-provider": {"name": "gcp"}},
            "users.u.auth-provider: not used here; expected exec, a token or a certificate",
        ),
        ("user", None, "contexts.x.user: u: users has none of this name"),
    ],
    ids=["no server", "no scheme", "auth-provider", "no user"],
)
def test_what_the_client_would_guess_is_a_mistake(built, dead, kind, entry, said):
    """Without a server it asks localhost, with an auth-provider it warns and asks without credentials."""
    tree, _ = dead
    tree[f"{kind}s"][0][kind] = entry
    assert built(tree) == (2, "", f"--kubeconfig kc: {said}\n")


def test_an_entry_of_another_form_is_no_traceback(built, dead):
    tree, _ = dead
    tree["users"].insert(0, 7)
    code, out, err = built(tree)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("--kubeconfig kc: not of a kubeconfig's form: ")


@pytest.mark.parametrize("token", ["secret\nsecret", "secret\u2028"], ids=["two lines", "no latin-1"])
def test_a_token_that_is_no_header_is_never_printed(built, players, token):
    tree = players.api.kubeconfig()
    tree["users"][0]["user"]["token"] = token
    assert built(tree) == (
        3,
        "",
        f"{players.api.url} cannot be asked: no address, or a token of more than one line\n",
    )


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        ({**PLUGIN, "command": "no-such-plugin"}, "[Errno 2] No such file or directory: 'no-such-plugin'"),
        (
            {**PLUGIN, "command": "echo", "args": ["rubbish"]},
            "exec: failed to decode process output: Expecting value: line 1 column 1 (char 0)",
        ),
        (None, "Invalid kube-config file. Expected key exec in kc"),
    ],
    ids=["missing", "rubbish", "nothing"],
)
def test_a_plugin_that_failed_is_told_when_the_server_is_down_too(built, dead, plugin, said):
    """And what the client says is cut where it repeats the user's entry."""
    tree, down = dead
    tree["users"][0]["user"] = {"exec": plugin, "username": "me", "password": "secret"}
    assert built(tree) == (3, "", f"{down}; no credentials before: {said}\n")


def test_a_file_of_bytes_is_one_line(ops, folder):
    (folder / "kc").write_bytes(b"\x9a\x00")
    code, out, err = ops("status", "--kubeconfig", "kc")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("--kubeconfig kc: not YAML: ")


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, "<html>\nsign in", "<html> sign in"),
        (200, "{}", "{}"),
        (200, "[]", "[]"),
        (200, "x" * 99, f"{'x' * 80}..."),
        (204, "", "''"),
    ],
    ids=["page", "object", "list", "long", "nothing"],
)
@pytest.mark.parametrize("command", [("status",), ("try", "--server", "gemma"), ("idle", "status")], ids=" ".join)
def test_what_answers_and_is_no_kubernetes_is_one_line(ops, dead, folder, command, status, body, said):
    tree, _ = dead
    with answering(status, body) as address:
        tree["clusters"][0]["cluster"] = {"server": address}
        (folder / "kc").write_text(yaml.safe_dump(tree))
        code, out, err = ops(*command, "--kubeconfig", "kc")
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == f"{address} answers {status}, and not as a Kubernetes API does: {said}"


def test_a_list_of_nothing_may_be_null(ops, dead, folder):
    tree, _ = dead
    with answering(200, '{"kind": "PodList", "items": null}') as address:
        tree["clusters"][0]["cluster"] = {"server": address}
        (folder / "kc").write_text(yaml.safe_dump(tree))
        code, out, _ = ops("cache", "verify", "--server", "gemma", "--kubeconfig", "kc")
    assert (code, out) == (1, "")
