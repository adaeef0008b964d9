"""Helm releases: what the provider makes of one, without its chart.

As `provider/pkg/provider/helm_release.go` of pulumi-kubernetes (commit cdd7cc1629af), but that one fetches the chart:
there is no `resourceNames` and no `appVersion` here, and no `version` where the program gives none. A range of versions
stays a range, and `valueYamlFiles` stay files. No object of a chart is made, so nothing here can be wrong with one.
"""

from __future__ import annotations

from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName, choose
from rehearsal.providers.package import Birth, Kind, Made, Proposal, Revision
from rehearsal.providers.values import UNKNOWN, Properties

RELEASE = "kubernetes:helm.sh/v3:Release"

FORCING = ("name", "namespace")
"""What replaces a release (`forceNewFields`); never is the old one deleted first."""

_DEFAULT_TIMEOUT = 300
# The limit is Helm's, for names that are given too [memory]; it says so at installation only.
_NAME = AutoName(property="name", limit=53, digits=8)
# Inputs of the SDK without a field in the provider's own type.
_DROPPED = frozenset({"compat", "manifest", "resourceNames"})


def check(proposal: Proposal, namespace: str) -> Properties:
    """The name, the namespace and how long to wait; what is empty or false is left out (`omitempty`).

    A name that the program takes back stays, even one that it gave itself (`adoptOldNameIfUnnamed`). Raises
    NameRefusedError when no name can be chosen.
    """
    news = proposal.news
    inputs = {key: value for key, value in news.items() if key not in _DROPPED and not _is_left_out(key, value)}
    inputs.setdefault("namespace", namespace)
    if "name" not in inputs:
        # The provider asks nobody how the stack wants its names.
        inputs["name"] = proposal.olds.get("name") or choose(_NAME, proposal.logical, proposal.seed, None)
    if "skipAwait" not in inputs and news.get("timeout") is None:
        inputs["timeout"] = _DEFAULT_TIMEOUT
    return inputs


def _is_left_out(key: str, value: object) -> bool:
    # The field of maxHistory is a pointer: 0 is a value.
    return value is None or (value in (False, "", 0, [], {}) and key != "maxHistory")


def _make(birth: Birth) -> Made:
    name, namespace = birth.inputs["name"], birth.inputs["namespace"]
    return Made(id=f"{namespace}/{name}", outputs={"status": _status(birth.inputs, revision=1)})


def _upgrade(revision: Revision) -> Properties:
    if revision.preview:
        return {"resourceNames": UNKNOWN, "status": UNKNOWN}
    return {"status": _status(revision.news, revision=revision.outputs["status"]["revision"] + 1)}


def _status(inputs: Properties, *, revision: int) -> Properties:
    status = {
        "chart": inputs["chart"].rstrip("/").rpartition("/")[2],
        "name": inputs["name"],
        "namespace": inputs["namespace"],
        "revision": revision,
        "status": "deployed",
    }
    return {**status, "version": inputs["version"]} if "version" in inputs else status


KIND = Kind(
    make=_make,
    unique=(Unique(error="cannot re-use a name that is still in use", same=("namespace", "name")),),
    revise=_upgrade,
)
