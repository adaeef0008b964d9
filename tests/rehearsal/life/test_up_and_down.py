"""Up, a second preview, a change from outside, destroy: on the real engine, over the unmodified dev and prod stacks."""

import pytest

from rehearsal.engine.run import RunFailedError
from rehearsal.engine.stack import prepared
from rehearsal.life import destroy, up
from rehearsal.plan.plan import Recording
from rehearsal.preview import preview
from rehearsal.providers.journal import Journal
from rehearsal.providers.store import FileStore
from rehearsal.toolchain import pulumi_cli
from tests.harness import ROOT, SECRETS
from tests.rehearsal.life.calls import VANISH, positions


def test_a_second_preview_is_empty(state):
    plan = preview("dev", project=ROOT, state=state)
    assert plan.changes() == ()
    assert len(plan.resources) > 70


def test_a_second_up_asks_the_cloud_for_nothing(state):
    journal = Journal()
    assert up("dev", project=ROOT, state=state, journal=journal).changes() == ()
    assert journal.calls == ()


def test_destroy_leaves_nothing_in_the_cloud(state, cloud):
    destroy("dev", project=ROOT, state=state)
    assert {kind for kind, _ in cloud(state)} <= VANISH


def test_a_stack_that_was_destroyed_comes_up_again(state, brought_up):
    destroy("dev", project=ROOT, state=state)
    journal = Journal()
    up("dev", project=ROOT, state=state, journal=journal)
    assert {call.urn for call in journal.calls} == {call.urn for call in brought_up[1]}


CLUSTER = "aws:eks/cluster:Cluster"
NODES = "aws:eks/nodeGroup:NodeGroup"
WAY_OUT = ("aws:ec2/natGateway:", "aws:ec2/route:", "aws:ec2/vpcEndpoint:", "aws:ec2/internetGateway:")

INSIDE_THE_VPC = ("aws:ec2/subnet:", "aws:ec2/routeTable")


def test_workloads_go_before_nodes_cluster_and_network(taken_down):
    rest = positions(taken_down, NODES, CLUSTER, "aws:ec2/", "aws:eks/addon:")
    assert max(positions(taken_down, "kubernetes:")) < min(rest)


def test_nodes_and_everything_in_the_cluster_go_before_the_cluster(taken_down):
    (cluster,) = positions(taken_down, CLUSTER)
    inside = positions(taken_down, NODES, "aws:eks/addon:", "aws:eks/podIdentity", "aws:eks/access")
    assert max(inside) < cluster


def test_the_network_s_ways_out_go_last_of_all_that_needs_them(taken_down):
    """Nodes drain, the CNI frees its interfaces and the control plane answers over NAT, routes and endpoints."""
    (cluster,) = positions(taken_down, CLUSTER)
    assert cluster < min(positions(taken_down, *WAY_OUT))
    (vpc,) = positions(taken_down, "aws:ec2/vpc:Vpc")
    assert max(positions(taken_down, *WAY_OUT, *INSIDE_THE_VPC)) < vpc


def test_an_identity_outlives_the_workload_that_uses_it(taken_down):
    deployment = positions(taken_down, "kubernetes:apps/v1:Deployment")
    assert max(deployment) < min(positions(taken_down, "aws:eks/podIdentity", "aws:iam/"))


def test_the_node_agents_outlive_the_nodes(taken_down):
    (nodes,) = positions(taken_down, NODES)
    agents = {"cluster-vpc-cni", "cluster-kube-proxy", "cluster-eks-pod-identity-agent"}
    assert {call.name for call in taken_down[nodes:] if call.type.startswith("aws:eks/addon:")} == agents


def test_creation_is_the_reverse_where_it_matters(brought_up):
    calls = [*brought_up[1]]
    (nodes,) = positions(calls, NODES)
    (cluster,) = positions(calls, CLUSTER)
    assert max(positions(calls, *WAY_OUT)) < nodes
    assert cluster < min(positions(calls, "aws:eks/podIdentity"))
    assert max(positions(calls, "aws:eks/podIdentity")) < min(positions(calls, "kubernetes:apps/v1:Deployment"))
    assert nodes < min(positions(calls, "kubernetes:"))


def test_refresh_shows_a_tag_that_was_changed_behind_the_provider_s_back(state):
    token = "aws:ec2/vpc:Vpc"  # noqa: S105 - a type token
    with FileStore.opened(state / "cloud.sqlite") as store:
        ((identifier, vpc),) = store.all(token).items()
        vpc["tags"] = {**vpc["tags"], "owner": "somebody-else"}
        vpc["tagsAll"] = {**vpc["tagsAll"], "owner": "somebody-else"}
        store.put(token, identifier, vpc)
    recording = Recording()
    with prepared("dev", project=ROOT, cli=pulumi_cli.find(), state=state) as rehearsal:
        counts = rehearsal.stack.refresh(on_event=recording.listen).summary.resource_changes
        assert counts["update"] == 1
        # and the next `up` puts it back
        after = Recording()
        rehearsal.stack.preview(on_event=after.listen)
    (change,) = after.plan("vllm-eks", "dev", {}, 0).changes()
    assert (change.name, change.action) == ("network", "update")
    assert "tags.owner" in change.changed


def test_a_protected_stack_is_not_destroyed_not_even_in_part(tmp_path, cloud):
    state = tmp_path / "prod"
    up("prod", project=ROOT, state=state, secrets=SECRETS)
    before, journal = cloud(state), Journal()
    with pytest.raises(RunFailedError) as refusal:
        destroy("prod", project=ROOT, state=state, journal=journal, secrets=SECRETS)
    network = "urn:pulumi:prod::vllm-eks::vllm-eks:infra:Network$aws:ec2/vpc:Vpc::network"
    assert f'Preview failed: resource "{network}" cannot be deleted because it is protected. ' in str(refusal.value)
    assert journal.calls == ()
    assert cloud(state) == before
