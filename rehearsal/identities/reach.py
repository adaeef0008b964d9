"""Who can write what another identity executes.

Executed are: objects that a role reads (weights may bring code, start-up caches hold pickles), images, whatever a pod
with its service account is told to run, and what runs with a role that somebody may pass, assume or give new rights.
An identity's own rights count, also where a resource's policy stops them: such an edge names what stops it, because
then one document is all that stands between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rehearsal.identities.extract import Identities, Resource, Role
from rehearsal.identities.granted import exempted, granted_to_others, granting, stopping
from rehearsal.identities.patterns import covers, overlap
from rehearsal.identities.things import Thing, things
from rehearsal.identities.workloads import ADMINS, changing, workloads

AWS_SAYS = {
    "AmazonEKSWorkerNodePolicy": "eks-auth:AssumeRoleForPodIdentity",
    "AmazonEKSClusterPolicy": "",
    "AmazonEKS_CNI_Policy": "",
    "AmazonEC2ContainerRegistryPullOnly": "",
    "AmazonSSMManagedInstanceCore": "",
}
"""AWS's own policies that were read (its managed policy reference), to the right by which one executes as another.
Content of any other is not known: `blind` names it."""


@dataclass(frozen=True, kw_only=True, order=True)
class Edge:
    """`writer` decides what `executor` runs."""

    writer: str
    """Logical name of a role; the ARN of somebody outside of the stack; or a service account without a role."""
    thing: str
    executor: str
    by: tuple[str, ...] = field(compare=False)
    """Statements, as `document: Sid`."""
    stopped_by: tuple[str, ...] = field(compare=False, default=())
    """Statements of resources' policies that refuse it all the same; empty: it goes through."""

    def __str__(self) -> str:
        """As in a report."""
        stopped = f"; stopped by {', '.join(self.stopped_by)}" if self.stopped_by else ""
        return f"{self.writer} -> {self.thing} -> {self.executor} ({', '.join(self.by)}{stopped})"


def reach(identities: Identities, resources: Iterable[Resource]) -> list[Edge]:
    """All edges of a stack, sorted. An identity that writes its own is none."""
    kept = list(resources)
    found: dict[tuple[str, str, str], list[Edge]] = {}
    for edge in (
        *_written(identities, things(identities, kept)),
        *_on_nodes(identities),
        *_in_the_cluster(identities, kept),
    ):
        if edge.writer != edge.executor:
            found.setdefault((edge.writer, edge.thing, edge.executor), []).append(edge)
    return sorted(
        Edge(
            writer=writer,
            thing=thing,
            executor=executor,
            by=tuple(sorted({it for edge in edges for it in edge.by})),
            # one way that goes through is enough
            stopped_by=()
            if any(not edge.stopped_by for edge in edges)
            else tuple(sorted({it for edge in edges for it in edge.stopped_by})),
        )
        for (writer, thing, executor), edges in found.items()
    )


def blind(identities: Identities) -> list[str]:
    """What this cannot see: AWS's policies that were not read, and groups that an access entry is put into."""
    return [
        *(f"{it.name}: {policy}" for it in identities.roles.values() for policy in it.aws if policy not in AWS_SAYS),
        *(f"{it.principal}: group {group}" for it in identities.entries for group in it.groups),
    ]


def _written(identities: Identities, all_things: Iterable[Thing]) -> Iterator[Edge]:
    policies = [it for documents in identities.resources.values() for it in documents]
    for thing in all_things:
        for action in thing.writes:
            for executor in thing.executors:
                for role in identities.roles.values():
                    if by := granting(role.documents, action, thing.arn):
                        stopped = [*stopping(policies, action, thing.arn, role.arn), *_not_trusted(thing, action, role)]
                        yield Edge(
                            writer=role.name,
                            thing=thing.name,
                            executor=executor,
                            by=tuple(by),
                            stopped_by=tuple(stopped),
                        )
                for document in policies:
                    let_in = granted_to_others(document, action, thing.arn)
                    spared = [it for it in exempted(document, action, thing.arn) if not _ours(identities, it[0])]
                    for who, by_statement in (*let_in, *spared):
                        name = next((r.name for r in identities.roles.values() if r.arn == who), who)
                        yield Edge(writer=name, thing=thing.name, executor=executor, by=(by_statement,))
    for role in identities.roles.values():
        for principal in (
            it for s in role.trust.statements for it in s.principals.get("AWS", s.principals.get("*", ()))
        ):
            name = next((it.name for it in identities.roles.values() if it.arn == principal), principal)
            yield Edge(writer=name, thing="assume", executor=role.name, by=(f"{role.name}: trust",))


def _ours(identities: Identities, arn: str) -> bool:
    """Whether an exemption is for roles that this stack makes: those are looked at one by one."""
    return "*" in arn or any(covers(arn, role.arn) for role in identities.roles.values())


def _not_trusted(thing: Thing, action: str, writer: Role) -> list[str]:
    """The right to assume a role is none while the role's trust does not name its holder."""
    if action != "sts:AssumeRole" or thing.trust is None:
        return []
    named = [it for s in thing.trust.statements for them in s.principals.values() for it in them]
    account = writer.arn.split(":")[4]
    trusted = any(it in {writer.arn, "*", account} or it.endswith(f"::{account}:root") for it in named)
    return [] if trusted else [f"{thing.trust.name}: trust"]


def _on_nodes(identities: Identities) -> Iterator[Edge]:
    """A node's agent fetches the credentials of every pod on it, with the pod's token, which lies on the node."""
    for role in identities.roles.values():
        for policy in role.aws:
            if AWS_SAYS.get(policy):
                for it in identities.associations:
                    yield Edge(writer=role.name, thing="pods on its nodes", executor=it.role, by=(f"AWS: {policy}",))


def _in_the_cluster(identities: Identities, resources: list[Resource]) -> Iterator[Edge]:
    of = {(it.namespace, it.service_account): it.role for it in identities.associations}
    for entry in identities.entries:
        for policy, namespaces in entry.policies.items():
            if policy in ADMINS:
                for (namespace, _), role in of.items():
                    if not namespaces or any(overlap(it, namespace) for it in namespaces):
                        yield Edge(writer=entry.principal, thing="pods", executor=role, by=(f"access entry: {policy}",))
    running = {it.account for it in workloads(resources)}
    for hand in changing(resources):
        name = of.get(hand.account, f"service account {'/'.join(hand.account)}")
        for it in sorted(running | set(of)):
            if hand.namespace in {None, it[0]} and it in of:
                yield Edge(writer=name, thing="pods", executor=of[it], by=(hand.by,), stopped_by=hand.stopped_by)
