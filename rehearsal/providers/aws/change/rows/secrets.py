"""Rules for keys and secrets. Sources in brackets: `table.py`."""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule

RULES: dict[str, Rule] = {
    "aws:kms/key:Key": Rule(
        schema="AWS::KMS::Key",
        replaces=("customKeyStoreId", "customerMasterKeySpec", "keyUsage", "multiRegion", "xksKeyId"),  # tf
        keeps=("description", "multiRegion", "policy", "rotationPeriodInDays"),  # tf
        defaults={
            "bypassPolicyLockoutSafetyCheck": False,  # tf
            "customerMasterKeySpec": "SYMMETRIC_DEFAULT",  # tf
            "enableKeyRotation": False,  # tf
            "isEnabled": True,  # tf
            "keyUsage": "ENCRYPT_DECRYPT",  # tf
        },
    ),
    "aws:kms/alias:Alias": Rule(
        schema="AWS::KMS::Alias",
        names={"AliasName": "name"},
        replaces=("namePrefix",),  # memory
    ),
    "aws:secretsmanager/secret:Secret": Rule(
        schema="AWS::SecretsManager::Secret",
        replaces=("namePrefix", "type"),  # tf, and for `type` the SDK's docstring
        sets=("replicas",),  # tf
        keeps=("policy", "replicas"),  # tf
        defaults={"forceOverwriteReplicaSecret": False, "recoveryWindowInDays": 30},  # tf
    ),
    "aws:secretsmanager/secretVersion:SecretVersion": Rule(
        replaces=("secretBinary", "secretId", "secretString", "secretStringWoVersion"),  # tf
        sets=("versionStages",),  # tf
        keeps=("versionStages",),  # tf
    ),
}
