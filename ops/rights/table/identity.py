"""IAM: roles and policies below the stack's names. What may be passed to whom is in `documents.py`."""

from ops.rights.table.row import Row

ROWS: dict[str, Row] = {
    "aws:iam/role:Role": Row(
        on="roles",
        look=(
            *("iam:GetRole", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies", "iam:ListRoleTags"),
            "iam:ListInstanceProfilesForRole",
        ),
        make=("iam:CreateRole",),
        change=(
            *("iam:DeleteRole", "iam:UpdateRole", "iam:UpdateRoleDescription", "iam:UpdateAssumeRolePolicy"),
            *("iam:TagRole", "iam:UntagRole"),
        ),
    ),
    "aws:iam/rolePolicy:RolePolicy": Row(
        on="roles",
        look=("iam:GetRolePolicy",),
        change=("iam:PutRolePolicy", "iam:DeleteRolePolicy"),
    ),
    # attaching and detaching are narrowed further, by the policy
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Row(on="roles", look=("iam:ListAttachedRolePolicies",)),
    "aws:iam/policy:Policy": Row(
        on="policies",
        look=("iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListPolicyVersions", "iam:ListPolicyTags"),
        make=("iam:CreatePolicy",),
        change=(
            *("iam:DeletePolicy", "iam:CreatePolicyVersion", "iam:DeletePolicyVersion"),
            *("iam:TagPolicy", "iam:UntagPolicy"),
        ),
    ),
}

ATTACHING = ("iam:AttachRolePolicy", "iam:DetachRolePolicy")
