"""What AWS would answer to each role, over the documents of an `up`, before an evaluator that is not ours."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml

from infra.karpenter.policies import Scope
from infra.naming import Place, partition_of
from rehearsal.identities.extract import Identities, Role, extract
from rehearsal.identities.reach import reach
from tests.infra.evaluator import Answer, Request, evaluate
from tests.infra.karpenter import requests as karpenter
from tests.infra.karpenter import scene as karpenter_scene
from tests.rehearsal.identities.conftest import CHINA, EVERY, RICH, Resources

TABLE: Mapping[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("requests.yaml").read_text())
FIELDS = {"action", "at", "context", "by", "against", "needs"}
ACCOUNT = "000000000000"
RELEASE = "1.14"
"""Of Karpenter, in all stack files."""


@dataclass(frozen=True)
class Row:
    request: Request
    verdict: str
    sid: str
    """Of the statement that decides; empty when none does."""

    def __str__(self) -> str:
        return f"{self.request.principal} {self.request.action} {self.request.resource} {dict(self.request.context)}"


def inputs(resources: Resources, token: str) -> list[dict[str, Any]]:
    return [it["inputs"] for it in resources if it["type"] == token]


def facts(stack: str, resources: Resources) -> dict[str, str]:
    """What the table needs: from resources, not from the documents that are asked about."""
    identities = extract(resources)
    (bucket,) = inputs(resources, "aws:s3/bucket:Bucket")
    (cluster,) = [it["outputs"] for it in resources if it["type"] == "aws:eks/cluster:Cluster"]
    (queue,) = [it["outputs"]["arn"] for it in resources if it["type"] == "aws:sqs/queue:Queue"]
    (rule,) = inputs(
        resources, "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    )
    key = rule["rules"][0]["applyServerSideEncryptionByDefault"].get("kmsMasterKeyId", "")
    rules = inputs(resources, "aws:ecr/pullThroughCacheRule:PullThroughCacheRule")
    return {
        "partition": "aws-cn" if stack == CHINA else "aws",
        "region": "cn-north-1" if stack == CHINA else "us-west-2",
        "account": ACCOUNT,
        "bucket": bucket["bucket"],
        "cluster": cluster["name"],
        "cluster_arn": cluster["arn"],
        "queue": queue,
        "key": key,
        "upstreams": "yes" if rules else "",
        "prefix": rules[0]["ecrRepositoryPrefix"].partition("/")[0] if rules else "any",
        "node_role": identities.roles["karpenter-nodes"].arn,
        "system_role": identities.roles["cluster-system"].arn,
    }


def of_server(name: str, resources: Resources) -> dict[str, str]:
    """Model and caches of a server: from the command of its pod and of its build."""
    builds = {it["metadata"]["name"]: it for it in inputs(resources, "kubernetes:batch/v1:CronJob")}
    build = builds[f"{name}-cache-build"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
    given = dict(it.removeprefix("--").split("=", 1) for it in build[: build.index("--")])
    uri = next(it for it in build if it.startswith("s3://"))
    every = f"vllm-cache/{given['engine']}/{given['gpu']}/"
    folder = f"{every}{given['model']}/{given['fingerprint']}/"
    pod = next(it for it in inputs(resources, "kubernetes:apps/v1:Deployment") if it["metadata"]["name"] == name)
    restore = next(
        it["args"] for it in pod["spec"]["template"]["spec"]["initContainers"] if "/scripts/restore.py" in it["command"]
    )
    # the very key that the build writes is the one that the pod looks for
    for key in ("engine", "gpu", "model", "fingerprint"):
        assert f"--{key}={given[key]}" in restore
    model = uri.removeprefix("s3://").partition("/")[2]
    return {"model": model, "folder": folder, "base": f"{every}{given['model']}/base/", "all": every}


def table_of(role: str) -> list[dict[str, Any]] | None:
    return next((rows for pattern, rows in TABLE.items() if fnmatchcase(role, pattern)), None)


def rows(stack: str, role: Role, resources: Resources) -> Iterator[Row]:
    put_in = facts(stack, resources)
    name, _, what = role.name.rpartition("-")
    if what in {"server", "publisher"}:
        put_in |= of_server(name, resources)
    for entry in table_of(role.name) or ():
        assert set(entry) <= FIELDS, entry
        if "needs" in entry and not put_in[entry["needs"]]:
            continue
        for action, at in product(listed(entry["action"]), listed(entry["at"])):
            on = Template(at).substitute(put_in)
            bucket = f"arn:{put_in['partition']}:s3:::{put_in['bucket']}"
            whole = on.startswith("arn:")
            context = {"aws:SecureTransport": "true", "aws:PrincipalArn": role.arn}
            for key, value in entry.get("context", {}).items():
                context[key] = Template(value).substitute(put_in)
            yield Row(
                Request(
                    principal=f"arn:{put_in['partition']}:sts::{ACCOUNT}:assumed-role/{role.physical}/x",
                    action=action,
                    resource=on if whole else f"{bucket}/{on}".rstrip("/"),
                    account=ACCOUNT,
                    context=context,
                    policies=[it.urn for it in role.documents],
                    resource_policy="key"
                    if on == put_in["key"]
                    else "queue"
                    if ":sqs:" in on
                    else None
                    if whole
                    else "bucket",
                ),
                "Allowed" if "by" in entry else "ExplicitlyDenied" if "against" in entry else "ImplicitlyDenied",
                entry.get("by") or entry.get("against", ""),
            )


def of_karpenter(stack: str, resources: Resources) -> Iterator[Row]:
    """Its own table, with this stack's cluster and roles put in."""
    put_in = facts(stack, resources)
    region = put_in["region"]
    role = extract(resources).roles["karpenter-controller"]
    place = Place(partition_of(region), region, karpenter_scene.ACCOUNT)
    scope = Scope(place=place, cluster=put_in["cluster"])
    for row in karpenter.rows(scope):
        if "karpenter" not in row.request.principal or "karpenter-nodes" in row.request.principal or row.since:
            continue
        names = {
            karpenter_scene.node_role_arn(scope): put_in["node_role"],
            karpenter_scene.queue_arn(scope): put_in["queue"],
            karpenter_scene.ACCOUNT: ACCOUNT,
        }
        asked = replace(
            row.request,
            principal=row.request.principal.replace(karpenter_scene.ACCOUNT, ACCOUNT),
            resource=_put(row.request.resource, names),
            account=ACCOUNT,
            context=json.loads(_put(json.dumps(dict(row.request.context)), names)),
            policies=[it.urn for it in role.documents],
            resource_policy=row.request.resource_policy and "queue",
        )
        verdict = "Allowed" if row.allowed else "ExplicitlyDenied" if row.explicit else "ImplicitlyDenied"
        yield Row(asked, verdict, "" if row.request.unchecked else row.statement)


def _put(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def policies(identities: Identities) -> dict[str, Any]:
    """By URN, and those of resources by kind."""
    found = {it.urn: json.loads(it.text) for role in identities.roles.values() for it in role.documents}
    found |= {kind: json.loads(them[0].text) for kind, them in identities.resources.items() if them}
    everything = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "kms:*", "Resource": "*"}
    return {"key": {"Version": "2012-10-17", "Statement": [everything]}, **found}


@pytest.fixture(scope="session")
def answers(resources: Callable[[str], Resources]) -> Callable[[str], list[tuple[Row, Answer]]]:
    known: dict[str, list[tuple[Row, Answer]]] = {}

    def of(stack: str) -> list[tuple[Row, Answer]]:
        if stack not in known:
            identities = extract(resources(stack))
            asked = [row for role in identities.roles.values() for row in rows(stack, role, resources(stack))]
            asked += of_karpenter(stack, resources(stack))
            given = evaluate(policies(identities), [row.request for row in asked])
            known[stack] = list(zip(asked, given, strict=True))
        return known[stack]

    return of


Answers = Callable[[str], list[tuple[Row, Answer]]]


@pytest.mark.parametrize("stack", EVERY)
def test_every_role_has_a_table(stack: str, resources: Callable[[str], Resources]) -> None:
    assert [name for name in extract(resources(stack)).roles if table_of(name) is None] == []


@pytest.mark.parametrize("stack", EVERY)
def test_each_request_is_answered_as_the_table_says(stack: str, answers: Answers) -> None:
    wrong = [
        f"{row}: {answer.verdict} {answer.problem}, expected {row.verdict}"
        for row, answer in answers(stack)
        if answer.verdict != row.verdict
    ]
    assert wrong == []
    assert len(answers(stack)) > 380


@pytest.mark.parametrize("stack", EVERY)
def test_the_statement_that_decides_is_the_one_that_is_there_for_it(stack: str, answers: Answers) -> None:
    wrong = [
        f"{row}: {answer.statements}, expected {row.sid}"
        for row, answer in answers(stack)
        if row.verdict == "Allowed" and row.sid and row.sid not in answer.statements
    ]
    assert wrong == []


@pytest.mark.parametrize("stack", EVERY)
def test_no_condition_key_of_the_table_is_one_that_aws_would_not_look_at(stack: str, answers: Answers) -> None:
    assert {key: str(row) for row, answer in answers(stack) for key in answer.ignored} == {}


def test_every_right_of_every_role_is_asked_for(resources: Callable[[str], Resources], answers: Answers) -> None:
    """In the stack that has them all."""
    roles = extract(resources(RICH)).roles.values()
    granted = {
        (role.physical, it.sid, action)
        for role in roles
        for document in role.documents
        for it in document.statements
        for action in it.actions
    }
    asked = {
        (row.request.principal.split("/")[1], row.sid, row.request.action)
        for row, _ in answers(RICH)
        if row.verdict == "Allowed"
    }
    # its rows go by another name, and these two are missing in the evaluator's table, which then names no statement
    karpenter = next(it.physical for it in roles if it.name == "karpenter-controller")
    asked = {(karpenter if who == "karpenter" else who, sid, action) for who, sid, action in asked}
    unnamed = {"arc-zonal-shift:GetManagedResource", "ssm:GetParameter"}
    assert {it for it in granted - asked if it[2] not in unnamed} == set()


def objects(identities: Identities) -> list[str]:
    """One object for each pattern of a right to objects."""
    patterns = {
        on
        for role in identities.roles.values()
        for document in role.documents
        for it in document.statements
        for on in it.resources
        if ":s3:::" in on and "/" in on
    }
    return sorted(it.replace("*", "x") for it in patterns)


@pytest.mark.parametrize("stack", EVERY)
def test_an_edge_between_roles_over_objects_is_what_the_evaluator_allows(
    stack: str, resources: Callable[[str], Resources]
) -> None:
    """`reach` reads documents by itself: here another program says who may write, and who may read, each object."""
    identities = extract(resources(stack))
    once = {"s3:ObjectCreationOperation": "true", "s3:if-none-match": "*"}
    asked = [
        (role.name, action, on)
        for role in identities.roles.values()
        for action in ("s3:PutObject", "s3:GetObject")
        for on in objects(identities)
    ]
    given = evaluate(
        policies(identities),
        [
            Request(
                principal=f"arn:{on.split(':')[1]}:sts::{ACCOUNT}:assumed-role/{identities.roles[name].physical}/x",
                action=action,
                resource=on,
                account=ACCOUNT,
                context={
                    "aws:SecureTransport": "true",
                    "aws:PrincipalArn": identities.roles[name].arn,
                    **(once if action == "s3:PutObject" else {}),
                },
                policies=[it.urn for it in identities.roles[name].documents],
                resource_policy="bucket",
            )
            for name, action, on in asked
        ],
    )
    may = {it for it, answer in zip(asked, given, strict=True) if answer.verdict == "Allowed"}
    by_evaluator = {
        (writer, reader)
        for writer, wrote, on in may
        for reader, read, same in may
        if (wrote, read) == ("s3:PutObject", "s3:GetObject") and on == same and writer != reader
    }
    by_reach = {
        (it.writer, it.executor)
        for it in reach(identities, resources(stack))
        if it.writer in identities.roles and it.thing.endswith("/") and not it.stopped_by
    }
    assert by_reach == by_evaluator
    assert ("onboarding", "gemma-server") in by_reach
