"""Roles and policies (`aws.iam`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made


def _path(birth: Birth) -> str:
    return str(birth.inputs.get("path", "/"))


def _role(birth: Birth) -> Made:
    name = birth.inputs["name"]
    return Made(
        id=name,
        outputs={
            "arn": arn(birth, "iam", f"role{_path(birth)}{name}", regional=False),
            "uniqueId": f"AROA{birth.digits(17).upper()}",
            "path": "/",
            "maxSessionDuration": 3600,
            "createDate": "2026-01-01T00:00:00Z",
        },
    )


def _policy(birth: Birth) -> Made:
    identifier = arn(birth, "iam", f"policy{_path(birth)}{birth.inputs['name']}", regional=False)
    return Made(
        id=identifier,
        outputs={
            "arn": identifier,
            "policyId": f"ANPA{birth.digits(17).upper()}",
            "path": "/",
            "attachmentCount": 0,
        },
    )


def _role_policy(birth: Birth) -> Made:
    return Made(id=f"{birth.inputs['role']}:{birth.inputs['name']}")


def _attachment(birth: Birth) -> Made:
    return Made(id=f"{birth.inputs['role']}/{birth.inputs['policyArn']}")


# Of the account, whatever the path is.
_OWN_NAME = (Unique(error="EntityAlreadyExists", same=("name",), worldwide=True),)

KINDS = {
    "aws:iam/role:Role": Kind(make=_role, tagged=True, auto_name=AutoName(property="name", limit=64), unique=_OWN_NAME),
    "aws:iam/policy:Policy": Kind(
        make=_policy, tagged=True, auto_name=AutoName(property="name", limit=128), unique=_OWN_NAME
    ),
    # PutRolePolicy and AttachRolePolicy overwrite what is there. So does a replacement with the same id, and then
    # the removal of the old one takes the new one away.
    "aws:iam/rolePolicy:RolePolicy": Kind(make=_role_policy, auto_name=AutoName(property="name", limit=128)),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Kind(make=_attachment),
}
