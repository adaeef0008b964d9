"""Where Helm comes from, with stand-ins for it and for `go`."""

from __future__ import annotations

import pytest

from rehearsal.toolchain import cache, etcd, golang, helm
from rehearsal.toolchain.executable import Executable, ToolMissingError, required_version
from tests.rehearsal.control_plane.test_programs import fake_go, program

HELM = required_version(helm.MODULE, "helm.sh/helm/v3")


def answers(says: str) -> str:
    """A script that knows one command."""
    return f'[ "$*" = "version --short" ] && echo "{says}"'


def test_it_asks_for_the_go_that_pypi_packages():
    assert golang.needed(helm.MODULE) == golang.needed(etcd.MODULE)


@pytest.mark.parametrize("version", ["3.18.0", "3.18.6+gb76a950", "3.99.1"])
def test_a_helm_on_path_that_fits_is_used(bare, version):
    found = program(bare, "helm", answers(f"v{version}"))
    assert helm.find() == Executable(path=found, version=version)


@pytest.mark.parametrize("version", ["3.17.9", "4.0.0"])
def test_a_helm_of_another_age_is_named_with_what_would_do(bare, version):
    found = program(bare, "helm", answers(f"v{version}"))
    with pytest.raises(ToolMissingError) as caught:
        helm.find()
    assert str(caught.value) == (
        "helm is missing and could not be had:\n"
        f"  - PATH: {found} is {version}, wanted >= 3.18.0 and < 4\n"
        "  - go build: no `go` on PATH; Go from PyPI: no network\n"
        "Any one of these is enough: put helm >= 3.18.0 and < 4 on PATH, or install Go >= 1.26.6 "
        "(with access to Go modules)."
    )


def test_the_build_is_of_the_pinned_version_and_done_once(bare):
    fake_go(bare, f"v{HELM}")
    first = helm.find()
    assert first == helm.find()
    assert first == Executable(path=cache.folder("helm", HELM) / "helm", version=HELM)
    (arguments,) = (bare / "arguments").read_text().splitlines()
    assert f"helm.sh/helm/v3/internal/version.version=v{HELM} " in arguments
    assert arguments.endswith(" helm.sh/helm/v3/cmd/helm")


def test_the_real_one_is_of_a_version_that_fits(programs):
    numbers = [int(number) for number in helm.find().version.split(".")[:2]]
    assert [3, 18] <= numbers < [4]
