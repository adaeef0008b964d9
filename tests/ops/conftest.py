"""`.venv/bin/python -m ops` in a folder of its own, before a real API server and a local AWS."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from boto3.session import Session
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from typer.testing import CliRunner

from ops.aws import session
from ops.cli import app
from ops.cluster import follow
from rehearsal.control_plane.client import ApiServer
from rehearsal.control_plane.kubelets import Kubelets, kubelets
from rehearsal.control_plane.server import control_plane
from tests.harness import ROOT
from tests.ops.live.stand import Stand
from tests.ops.players import Kubelet, Players

ACCOUNT = "000000000000"
"""Of the dev stack file."""


@pytest.fixture(autouse=True)
def new_session() -> None:
    """Credentials are looked for once a run: each test is one."""
    session.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the checked-in stack files, and no AWS identity."""
    for path in ROOT.glob("Pulumi.*.yaml"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    return tmp_path


@pytest.fixture
def edit(folder: Path) -> Callable[[Callable[[dict[str, Any]], object]], None]:
    """`edit(change)`: change the settings of the dev stack's file in place."""

    def write(change: Callable[[dict[str, Any]], object]) -> None:
        path = folder / "Pulumi.dev.yaml"
        whole = yaml.safe_load(path.read_text())
        change(whole["config"]["vllm-eks:settings"])
        path.write_text(yaml.safe_dump(whole, sort_keys=False))

    return write


@pytest.fixture
def ops(folder: Path) -> Callable[..., tuple[int, str, str]]:
    """`ops("cache", "key", ...)`: exit code, standard output, standard error."""

    def run(*arguments: str, given: str = "") -> tuple[int, str, str]:
        done = CliRunner().invoke(app, arguments, input=given)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """URL of a local AWS."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(moto: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """`aws("s3")`: a client of the local, empty AWS, which `ops` now asks too."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    urllib.request.urlopen(urllib.request.Request(f"{moto}/moto-api/reset", method="POST")).close()  # noqa: S310
    return lambda service: Session().client(service, region_name="us-west-2")


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A real API server for all tests of this folder."""
    with control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture
def players(
    api: ApiServer, folder: Path, edit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Players]:
    """A namespace of its own in it, which the dev stack's file now names, and who plays the controllers there."""
    monkeypatch.setattr(follow, "POLL", 0.05)
    playing = Players.in_new_namespace(api, folder, edit)
    yield playing
    playing.clear()


@pytest.fixture(scope="session")
def kwok(api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubelets]:
    """Nodes in it, whose kubelets answer for logs and ports."""
    with kubelets(api, tmp_path_factory.mktemp("kwok")) as running:
        yield running


@pytest.fixture
def stand(players: Players, kwok: Kubelets) -> Stand:
    """Pods of servers on such nodes, in the test's namespace."""
    return Stand(players, kwok)


@pytest.fixture(scope="session")
def kubelet(api: ApiServer) -> Iterator[Kubelet]:
    """What the API server asks for logs."""
    with Kubelet.serving(api) as running:
        yield running


@pytest.fixture
def template(players: Players, ops: Callable[..., tuple[int, str, str]]) -> dict[str, Any]:
    """The template of a cache build, as `pulumi up` of this very stack file makes it."""
    key = json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])
    return players.cron_job(
        "gemma-cache-build",
        {
            "command": ["python3"],
            "args": ["--bucket=b", f"--fingerprint={key['fingerprint']}"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        },
    )


@pytest.fixture
def build(ops: Callable[..., tuple[int, str, str]], players: Players) -> Callable[..., tuple[int, str, str]]:
    """`build(...)`: `ops cache build` of the dev stack's server."""
    return lambda *more: ops("cache", "build", "--server", "gemma", "--yes", "--kubeconfig", players.kubeconfig, *more)
