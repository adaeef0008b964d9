"""The offline `eks` provider: it serves one component, `eks.Cluster`, and no resource."""

from __future__ import annotations

from importlib.metadata import version

from pulumi.runtime.proto import provider_pb2

from rehearsal.providers.change.compare import by_index
from rehearsal.providers.change.verdict import Verdict, details
from rehearsal.providers.eks import cluster
from rehearsal.providers.eks.monitor import Monitor
from rehearsal.providers.package import Comparison, Kind, Package, Proposal
from rehearsal.providers.values import Properties


def find(token: str) -> Kind:
    """Refuses every type: raises LookupError. `eks` has components only."""
    raise LookupError(
        f"the offline eks provider does not know `{token}`: it models eks.Cluster only, see rehearsal/providers/eks/"
    )


def _check(_kind: Kind, proposal: Proposal) -> Properties:
    return proposal.news


def _diff(_kind: Kind, _comparison: Comparison) -> Verdict:
    return Verdict()


def _diff_config(olds: Properties, news: Properties) -> Verdict:
    return Verdict(details=details(by_index(olds, news), ()))


def _construct(request: provider_pb2.ConstructRequest) -> provider_pb2.ConstructResponse:
    if request.type != cluster.TOKEN:
        find(request.type)
    with Monitor.connected(request) as monitor:
        return cluster.construct(request, monitor)


def package() -> Package:
    """The provider, with the version of the installed SDK."""
    return Package(
        name="eks",
        version=version("pulumi-eks"),
        find=find,
        check=_check,
        diff=_diff,
        diff_config=_diff_config,
        construct=_construct,
    )
