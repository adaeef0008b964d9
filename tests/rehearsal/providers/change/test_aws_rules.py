"""Every AWS type has a rule, and no rule names an input that does not exist."""

import importlib
import inspect
import typing

import pytest

from rehearsal.providers.aws import KINDS, cluster, events, identity, network, secrets, storage
from rehearsal.providers.aws.change.extract import content
from rehearsal.providers.aws.change.rules import CREATE_ONLY, Rule
from rehearsal.providers.aws.change.table import RULES

# Create-only in CloudFormation, and no input of the AWS provider has that meaning.
WITHOUT_INPUT = {
    "aws:ec2/eip:Eip": ["TransferAddress"],
    "aws:ec2/vpc:Vpc": ["VpcEncryptionControl"],
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": ["UpstreamRegistry"],
    "aws:eks/addon:Addon": ["NamespaceConfig"],
}
# Decided by the table alone: CloudFormation has no such type, or replaces what the AWS provider updates.
WITHOUT_SCHEMA = [
    "aws:cloudwatch/eventTarget:EventTarget",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
    "aws:ecr/lifecyclePolicy:LifecyclePolicy",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:secretsmanager/secretVersion:SecretVersion",
    "aws:sqs/queuePolicy:QueuePolicy",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
]


def test_each_type_of_the_offline_provider_has_a_rule_and_no_rule_is_left_over():
    assert RULES.keys() == KINDS.keys()


def test_kinds_and_rules_are_sorted_by_the_same_subjects_and_none_is_said_twice():
    subjects = (network, cluster, identity, storage, secrets, events)
    for subject in subjects:
        rules = importlib.import_module(
            f"rehearsal.providers.aws.change.rows.{subject.__name__.rpartition('.')[2]}"
        ).RULES
        assert rules.keys() == subject.KINDS.keys()
    assert sum(len(subject.KINDS) for subject in subjects) == len(KINDS)


def test_a_type_without_schema_says_what_replaces_it():
    assert sorted(token for token, rule in RULES.items() if rule.schema is None) == WITHOUT_SCHEMA
    for token in WITHOUT_SCHEMA:
        assert RULES[token].replaces


def test_create_only_properties_without_an_input_are_known_by_name():
    found = {token: [path for path, name in rule.from_schema.items() if name is None] for token, rule in RULES.items()}
    assert {token: paths for token, paths in found.items() if paths} == WITHOUT_INPUT


def test_a_correction_corrects_something():
    for token, rule in RULES.items():
        assert {*rule.names} <= {*rule.from_schema}, token
        assert {*rule.updates} <= {*rule.from_schema.values()}, token
        assert {*rule.replaces}.isdisjoint(rule.from_schema.values()), token


@pytest.mark.parametrize("token", KINDS)
def test_every_path_of_a_rule_is_an_input_of_the_sdk(token):
    rule = RULES[token]
    named = {
        *(name for name in rule.from_schema.values() if name),
        *(*rule.replaces, *rule.updates, *rule.replaces_when, *rule.sets, *rule.keeps, *rule.defaults),
        *(path for unique in KINDS[token].unique for path in unique.same),
    }
    package, module, name = token.split(":")
    service = importlib.import_module(f"pulumi_{package}.{module.split('/')[0]}")
    # Where a nested type has that name already, the SDK says Init.
    inputs = getattr(service, f"{name}InitArgs", None) or getattr(service, f"{name}Args")
    missing = [path for path in sorted(named) if not _is_input(inputs, path, service)]
    assert missing == []


def test_the_data_file_is_what_cfn_lint_ships():
    assert CREATE_ONLY.read_text() == content()


def test_a_schema_that_is_not_in_the_data_file_is_refused_with_what_to_run():
    with pytest.raises(LookupError) as refusal:
        Rule(schema="AWS::SNS::Topic").from_schema  # noqa: B018 - the property raises
    assert str(refusal.value) == (
        "create_only.json lacks AWS::SNS::Topic: run python -m rehearsal.providers.aws.change.extract"
    )


def _is_input(arguments: type, path: str, service: typing.Any) -> bool:
    first, _, rest = path.partition(".")
    for python, member in inspect.getmembers(arguments, lambda it: isinstance(it, property)):
        if getattr(member.fget, "_pulumi_name", python) == first:
            if not rest:
                return True
            words = str(inspect.signature(member.fget).return_annotation).replace("'", " ").split()
            inner = next(word.rpartition(".")[2] for word in words if word.endswith("Args"))
            return _is_input(getattr(service, inner), rest, service)
    return False
