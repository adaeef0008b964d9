"""Rules for roles and policies. Sources in brackets: `table.py`."""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule

RULES: dict[str, Rule] = {
    "aws:iam/role:Role": Rule(
        schema="AWS::IAM::Role",
        names={"RoleName": "name"},
        replaces=("namePrefix",),  # memory
        sets=("inlinePolicies", "managedPolicyArns"),  # memory
        keeps=("inlinePolicies", "managedPolicyArns"),  # memory
        defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},  # memory
    ),
    "aws:iam/policy:Policy": Rule(
        schema="AWS::IAM::ManagedPolicy",
        names={"ManagedPolicyName": "name"},
        replaces=("namePrefix",),  # memory
        defaults={"path": "/"},  # memory
    ),
    "aws:iam/rolePolicy:RolePolicy": Rule(
        schema="AWS::IAM::RolePolicy",
        names={"PolicyName": "name", "RoleName": "role"},
        replaces=("namePrefix",),  # memory
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Rule(replaces=("policyArn", "role")),  # tf
}
