"""Helm releases over a real gRPC connection, and what an admission makes of them."""

import io

import pytest

from rehearsal.admit import Admission, charts, manifests
from rehearsal.control_plane.objects.manifest import Report
from rehearsal.life import up
from rehearsal.plan.admitted import report
from rehearsal.providers.journal import Journal
from rehearsal.providers.kubernetes.charts import RELEASE
from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN
from tests.rehearsal.conftest import urn

KARPENTER = {"chart": "oci://public.ecr.aws/karpenter/karpenter", "version": "1.14.1", "name": "k", "namespace": "x"}


@pytest.fixture
def api(connect):
    return connect("kubernetes", kubeconfig="{}", namespace="team")


def test_a_release_gets_a_name_a_namespace_and_a_time_to_wait(api):
    inputs = api.check(RELEASE, "plugin", {"chart": "c", "compat": "true"})
    prefix, _, digits = inputs.pop("name").rpartition("-")
    assert (prefix, len(digits), int(digits, 16) >= 0) == ("plugin", 8, True)
    assert inputs == {"chart": "c", "namespace": "team", "timeout": 300}


def test_what_the_program_says_stays_and_what_is_false_or_empty_is_left_out(api):
    given = {**KARPENTER, "timeout": 900, "atomic": True, "maxHistory": 0, "values": {"replicas": 0, "a": {"b": ""}}}
    empty = {"cleanupOnFail": False, "description": "", "skipAwait": False}
    assert api.check(RELEASE, "k", {**given, **empty}) == given


def test_who_does_not_wait_has_no_time_to_wait(api):
    assert "timeout" not in api.check(RELEASE, "k", {**KARPENTER, "skipAwait": True})


def test_a_name_stays_when_the_program_gives_none_any_more(api):
    assert api.check(RELEASE, "k", {"chart": "c"}, olds=KARPENTER)["name"] == "k"
    generated = api.check(RELEASE, "k", {"chart": "c"}, seed=b"one")
    assert api.check(RELEASE, "k", {"chart": "c"}, olds=generated, seed=b"two") == generated


def test_a_name_without_room_in_helm_is_refused(api):
    failure = api.check(RELEASE, "k" * 50, {"chart": "c"})["failure"]
    assert "has 59 characters, at most 53 are allowed" in failure


def test_unknown_and_secret_values_pass_as_they_are(api):
    secret = {SIGNATURE: SECRET, "value": "hunter2"}
    given = {**KARPENTER, "namespace": UNKNOWN, "values": {"queue": UNKNOWN, "token": secret, "list": [UNKNOWN]}}
    checked = api.check(RELEASE, "k", given)
    assert checked == {**given, "timeout": 300}
    # whatever is not among the outputs of a preview is unknown to the program: status, resourceNames
    assert api.create(RELEASE, "k", checked, preview=True) == ("", checked)


def test_a_release_is_deployed(api):
    identifier, outputs = api.make(RELEASE, "k", **KARPENTER)
    assert identifier == "x/k"
    assert outputs["version"] == "1.14.1"
    assert outputs["status"] == {
        "chart": "karpenter",
        "name": "k",
        "namespace": "x",
        "revision": 1,
        "status": "deployed",
        "version": "1.14.1",
    }
    # only the chart knows, and it was not fetched
    assert {"resourceNames", "manifest", "metadata"}.isdisjoint(outputs)
    assert api.read(RELEASE, identifier)[1] == outputs


def test_the_version_of_a_chart_that_the_program_leaves_open_is_not_made_up(api):
    _, outputs = api.make(RELEASE, "k", chart="c")
    assert "version" not in outputs
    assert "version" not in outputs["status"]


def test_an_upgrade_is_another_revision_and_unknown_until_then(api, change):
    made = change(api, RELEASE, {**KARPENTER, "values": {"a": 1}}, {**KARPENTER, "version": "1.15.0"})
    previewed = made.update(preview=True)
    assert (previewed["status"], previewed["resourceNames"], previewed["version"]) == (UNKNOWN, UNKNOWN, "1.15.0")
    outputs = made.update()
    assert (outputs["version"], outputs["status"]["version"], outputs["status"]["revision"]) == ("1.15.0", "1.15.0", 2)
    assert "values" not in outputs
    assert api.read(RELEASE, made.id)[1] == outputs


@pytest.mark.parametrize(
    ("new", "detail"),
    [
        ({"name": "l"}, {"name": "UPDATE_REPLACE"}),
        ({"namespace": "y"}, {"namespace": "UPDATE_REPLACE"}),
        ({"namespace": UNKNOWN}, {"namespace": "UPDATE_REPLACE"}),
        ({"chart": "other"}, {"chart": "UPDATE"}),
        ({"version": "1.15.0"}, {"version": "UPDATE"}),
        ({"values": {"a": 2, "b": {"c": UNKNOWN}}}, {"values.a": "UPDATE", "values.b.c": "UPDATE"}),
        ({"values": None}, {"values": "DELETE"}),
        ({"repositoryOpts": {"repo": "https://x"}}, {"repositoryOpts": "ADD"}),
        ({"skipAwait": True}, {"skipAwait": "ADD", "timeout": "DELETE"}),
        ({"atomic": False, "timeout": 300}, {}),
        ({"name": None}, {}),
    ],
)
def test_name_and_namespace_replace_a_release_and_everything_else_upgrades_it(api, change, new, detail):
    base = {**KARPENTER, "values": {"a": 1, "b": {"c": 1}}}
    answer = change(api, RELEASE, base, {**base, **new}).diff()
    assert answer.detail == detail
    assert answer.replaces == [place for place, kind in detail.items() if kind.endswith("_REPLACE")]
    assert answer.delete_first is False


def test_a_name_that_is_in_use_is_refused_in_its_namespace(api, refused):
    api.make(RELEASE, "one", **KARPENTER)
    assert refused(lambda: api.make(RELEASE, "two", **{**KARPENTER, "chart": "other"})) == (
        f"{urn(RELEASE, 'two')}: cannot re-use a name that is still in use: x/k already exists in the offline cloud "
        'with the same namespace "x", name "k"'
    )
    assert api.make(RELEASE, "two", **{**KARPENTER, "namespace": "y"})[0] == "y/k"


def test_a_release_is_counted_and_never_taken_for_an_object(project):
    program = (
        "import pulumi, pulumi_kubernetes as k8s\n"
        "api = pulumi.ResourceOptions(provider=k8s.Provider('api', kubeconfig='{}'))\n"
        "k8s.core.v1.Namespace('team', metadata={'name': 'team'}, opts=api)\n"
        "made = k8s.helm.v3.Release('plugin', chart='plugin', version='1.0.0', namespace='team', opts=api)\n"
        "pulumi.export('revision', made.status.revision)\n"
    )
    journal = Journal()
    up("dev", project=project(program), journal=journal)
    assert [it.body["kind"] for it in manifests(journal)] == ["Namespace"]
    assert charts(journal) == ["urn:pulumi:dev::own::kubernetes:helm.sh/v3:Release::plugin"]


@pytest.mark.parametrize(("count", "line"), [(0, None), (2, "  charts, not looked into: 2")])
def test_the_report_says_how_many_charts_nobody_looked_into(count, line):
    found = Report(admitted=(), refusals=(), crds=())
    verdict = Admission(project="p", stack="dev", server="1.36.0", report=found, charts=count, seconds=1.0)
    stream = io.StringIO()
    report(verdict, stream)
    assert [it for it in stream.getvalue().splitlines() if "chart" in it] == ([line] if line else [])
    assert verdict.as_json()["charts"] == count
