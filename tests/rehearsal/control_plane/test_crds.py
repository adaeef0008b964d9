"""Custom kinds are checked against the definitions of the pinned releases, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from rehearsal.control_plane import crds
from rehearsal.control_plane.admission import admit
from rehearsal.control_plane.crds import CrdError
from rehearsal.toolchain import cache, golang
from tests.rehearsal.control_plane.objects import made, manifests, namespace, node_class, node_pool

KARPENTER = crds.SOURCES["karpenter.sh"]

WIDGET = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.{group}
  resourceVersion: "7"
  creationTimestamp: 2026-01-01T00:00:00Z
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: Widget, plural: widgets}}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size: {{type: integer, maximum: 3}}
status: {{conditions: []}}
"""


def only(report):
    (refusal,) = report.refusals
    return refusal.line


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_a_table_entry_defines_its_group():
    assert {crd.kind for crd in crds.of_group("karpenter.sh")} == {"NodePool", "NodeClaim", "NodeOverlay"}
    assert [crd.name for crd in crds.of_group("karpenter.k8s.aws")] == ["ec2nodeclasses.karpenter.k8s.aws"]
    assert "HTTPRoute" in {crd.kind for crd in crds.of_group("gateway.networking.k8s.io")}
    assert crds.of_group("example.com") == []


def test_a_module_with_another_checksum_is_refused(empty_cache, monkeypatch):
    wrong = dataclasses.replace(KARPENTER, checksum="h1:AAAA")
    monkeypatch.setattr(crds, "SOURCES", {"karpenter.sh": wrong})
    with pytest.raises(CrdError) as caught:
        crds.of_group("karpenter.sh")
    path = golang.module_zip(KARPENTER.module, KARPENTER.version, wanted="1.26.6")
    assert str(caught.value) == (
        f"{KARPENTER.title} has the checksum {KARPENTER.checksum}, pinned is h1:AAAA "
        f"(SOURCES in rehearsal/control_plane/crds.py): the module was changed, or {path} is damaged"
    )
    assert [path.name for path in empty_cache.glob("cache/vllm-eks/toolchain/crds/*/*")] == ["lock"]


def test_a_module_that_was_changed_on_this_disk_is_refused(empty_cache, monkeypatch):
    """Go itself trusts what its cache says of the zip."""
    real = golang.module_zip(KARPENTER.module, KARPENTER.version, wanted="1.26.6")
    changed = empty_cache / "module.zip"
    shutil.copyfile(real, changed)
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    monkeypatch.setattr(golang, "module_zip", lambda *_args, **_more: changed)
    with pytest.raises(CrdError, match=rf"has the checksum h1:|{changed} is damaged"):
        crds.of_group("karpenter.sh")


def test_a_module_that_cannot_be_had_is_one_line(empty_cache, monkeypatch):
    def fails(*_args, **_more):
        raise golang.BuildError("go mod download: lookup failed")

    monkeypatch.setattr(golang, "module_zip", fails)
    with pytest.raises(CrdError) as caught:
        crds.of_group("karpenter.sh")
    assert str(caught.value) == f"the CRDs of {KARPENTER.title} could not be had: go mod download: lookup failed"


def test_a_module_version_that_does_not_exist_is_named():
    with pytest.raises(golang.BuildError, match=r"go mod download example.invalid/x@v1.0.0: "):
        golang.module_zip("example.invalid/x", "v1.0.0", wanted="1.26.6")


def test_damaged_definitions_in_the_cache_are_named(empty_cache):
    crds.of_group("karpenter.sh")
    (path,) = cache.folder("crds", "*").parent.glob("*/crds.json")
    path.write_text(path.read_text()[:1000])
    with pytest.raises(CrdError) as caught:
        crds.of_group("karpenter.sh")
    assert str(caught.value) == f"{path} is damaged: delete this file and run again"


def test_what_a_cluster_added_to_an_exported_definition_is_dropped(tmp_path):
    (tmp_path / "widget.yaml").write_text(WIDGET.format(group="export.example.com") + "---\nkind: Other\n")
    (crd,) = crds.of_folder(tmp_path)
    assert crd.body["metadata"] == {"name": "widgets.export.example.com"}
    assert "status" not in crd.body
    assert json.dumps(crd.body)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: CustomResourceDefinition\nspec: {}\n", "a CustomResourceDefinition lacks 'group'"),
        ("kind: [", "while parsing a flow node"),
    ],
)
def test_a_folder_with_a_wrong_file_names_it(tmp_path, text, problem):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(CrdError, match=rf"^{path}: {problem}"):
        crds.of_folder(tmp_path)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(CrdError, match=rf"^{tmp_path}/x is not a folder of CRDs$"):
        crds.of_folder(tmp_path / "x")


def test_right_karpenter_objects_are_admitted_and_only_their_kinds_defined(ask):
    pool = node_pool("right", {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]})
    report = ask(pool, node_class("right"))
    assert report.refusals == ()
    assert [each.name for each in report.admitted] == ["right", "right"]
    assert set(report.crds) <= {
        f"nodepools.karpenter.sh ({KARPENTER.title})",
        f"ec2nodeclasses.karpenter.k8s.aws ({KARPENTER.title})",
    }


def test_a_node_pool_that_breaks_a_cel_rule_is_refused(ask):
    pool = node_pool("cel", {"key": "karpenter.sh/capacity-type", "operator": "In", "values": []})
    assert only(ask(pool)) == (
        'urn:pulumi:dev::p::NodePool::cel: NodePool cel: NodePool.karpenter.sh "cel" is invalid: '
        "spec.template.spec.requirements: Invalid value: requirements with operator 'In' must have a value defined"
    )


def test_an_unknown_field_of_a_node_class_is_refused(ask):
    assert only(ask(node_class("typo", subnets=[]))) == (
        "urn:pulumi:dev::p::EC2NodeClass::typo: EC2NodeClass typo: failed to create typed patch object (/typo; "
        "karpenter.k8s.aws/v1, Kind=EC2NodeClass): .spec.subnets: field not declared in schema"
    )


def test_a_kind_that_nobody_defines_says_where_to_add_it(ask, server):
    assert only(ask(made("example.com/v1", "Thing", "a", "default"))) == (
        f"urn:pulumi:dev::p::Thing::a: Thing default/a: kube-apiserver v{server.version} does not serve "
        "example.com/v1, and no CRD of Thing is known here: add example.com to SOURCES in "
        "rehearsal/control_plane/crds.py, or pass a folder with the CRD by --crds"
    )


@pytest.mark.parametrize(
    ("version", "kind", "message"),
    [
        ("karpenter.sh/v1", "NodePoool", f"{KARPENTER.title} defines no karpenter.sh/v1 NodePoool"),
        ("karpenter.sh/v1beta1", "NodePool", f"{KARPENTER.title} defines no karpenter.sh/v1beta1 NodePool"),
        ("apps/v1beta1", "Deployment", "kube-apiserver v{version} serves apps, but no apps/v1beta1 Deployment"),
        ("v1", "Sevice", "kube-apiserver v{version} serves the core group, but no v1 Sevice"),
    ],
)
def test_a_kind_or_version_that_a_known_group_lacks_is_named(ask, server, version, kind, message):
    (refusal,) = ask(made(version, kind, "a")).refusals
    assert refusal.message == message.format(version=server.version)


def test_definitions_of_the_users_folder_are_used(server, tmp_path):
    (tmp_path / "widget.yml").write_text(WIDGET.format(group="folder.example.com"))
    bodies = [
        made("folder.example.com/v1", "Widget", "small", "widgets", spec={"size": 3}),
        made("folder.example.com/v1", "Widget", "large", "widgets", spec={"size": 4}),
        namespace("widgets"),
    ]
    report = admit(server, manifests(*bodies), crds=tmp_path)
    assert report.crds == (f"widgets.folder.example.com ({tmp_path}/widget.yml)",)
    assert only(report) == (
        'urn:pulumi:dev::p::Widget::large: Widget widgets/large: Widget.folder.example.com "large" is invalid: '
        "spec.size: Invalid value: 4: spec.size in body should be less than or equal to 3"
    )


def test_a_definition_that_the_server_refuses_is_named(server, tmp_path):
    text = WIDGET.format(group="wrong.example.com").replace("widgets.wrong", "gadgets.wrong")
    (tmp_path / "widget.yaml").write_text(text)
    thing = made("wrong.example.com/v1", "Widget", "a")
    with pytest.raises(CrdError) as caught:
        admit(server, manifests(thing), crds=tmp_path)
    assert str(caught.value).startswith(
        f"gadgets.wrong.example.com ({tmp_path}/widget.yaml) is refused: "
        'CustomResourceDefinition.apiextensions.k8s.io "gadgets.wrong.example.com" is invalid: metadata.name: '
    )


def test_a_stack_may_bring_its_own_definitions(ask, tmp_path):
    (tmp_path / "widget.yaml").write_text(WIDGET.format(group="own.example.com"))
    (crd,) = crds.of_folder(tmp_path)
    report = ask(made("own.example.com/v1", "Widget", "a", "default", spec={"size": 4}), dict(crd.body))
    assert [each.name for each in report.admitted] == ["widgets.own.example.com"]
    assert "spec.size: Invalid value: 4" in only(report)
