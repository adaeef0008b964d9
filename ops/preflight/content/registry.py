"""ECR's pull-through rules, and the secrets that some of them need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from infra.image_cache.image_cache import SECRET_FOLDER
from infra.image_cache.rewrite import image_cache_facts
from infra.image_cache.upstreams import UPSTREAMS, Upstream
from infra.naming import Place, partition_of
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok, warn

OWN_KEYS = ("alias/aws/secretsmanager",)
"""Keys of a secret that ECR can read with: AWS's own alone (ECR user guide). A secret without a key id has it too."""


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A secret of Secrets Manager, without its content."""

    arn: str
    key: str
    """Of KMS; empty: AWS's own."""
    deleted: bool
    """It is on its way out, and its name is not free."""


def check(asked: Asked) -> Iterator[Finding]:
    """Ask ECR and Secrets Manager, and yield findings for each upstream of `imageCache`."""
    settings = asked.stack.settings
    place = Place(partition_of(asked.stack.region), asked.stack.region, settings.account.id)
    prefixes = image_cache_facts(settings.image_cache, place).prefixes
    if not prefixes:
        yield ok("-", "imageCache.upstreams is empty: nodes pull from the registries themselves")
        return
    ecr, secrets = asked.aws.client("ecr"), asked.aws.client("secretsmanager")
    there = answer("ecr:DescribePullThroughCacheRules", lambda: rules(ecr))
    if isinstance(there, NoAnswer):
        yield there.about(settings.image_cache.prefix)
        return
    for name in settings.image_cache.upstreams:
        upstream = UPSTREAMS[name]
        prefix = prefixes[upstream.registry]
        rule = there.get(prefix)
        yield rule_finding(prefix, upstream, rule)
        if upstream.credentials:
            secret = f"{SECRET_FOLDER}/{prefix}"
            found = answer(
                "secretsmanager:DescribeSecret",
                partial(described, secrets, secret),
                absent={"ResourceNotFoundException": None},
            )
            yield secret_finding(secret, upstream.credentials, rule, found)


def rules(ecr: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the account's rules by prefix, of all pages. Asked for one that is missing, ECR answers with an error."""
    pages: Sequence[Any] = ecr.get_paginator("describe_pull_through_cache_rules").paginate()
    return {it["ecrRepositoryPrefix"]: it for page in pages for it in page["pullThroughCacheRules"]}


def described(secrets: Any, name: str) -> Secret | None:
    """Return a secret. Its content is never read."""
    found = secrets.describe_secret(SecretId=name)
    return Secret(arn=found["ARN"], key=found.get("KmsKeyId", ""), deleted="DeletedDate" in found)


def rule_finding(prefix: str, upstream: Upstream, rule: Mapping[str, Any] | None) -> Finding:
    """Return whether a prefix leads to its upstream."""
    if rule is None:
        return ok(prefix, "no rule yet; `pulumi up` makes it")
    if rule["upstreamRegistryUrl"] != upstream.url:
        return fail(
            prefix,
            f"a rule to {rule['upstreamRegistryUrl']} has this prefix; expected {upstream.url}",
            "another imageCache.prefix (the rule is another stack's), or delete the rule:"
            f" aws ecr delete-pull-through-cache-rule --ecr-repository-prefix {prefix}",
        )
    return ok(prefix, f"rule to {upstream.url}")


def secret_finding(name: str, key: str, rule: Mapping[str, Any] | None, secret: Secret | NoAnswer | None) -> Finding:
    """Return whether ECR can log in to an upstream.

    Args:
        name: of the secret, as the program makes it.
        key: the stack's configuration key that its content comes from.
        rule: that uses it; None: not made yet.
        secret: what is there.
    """
    if isinstance(secret, NoAnswer):
        return secret.about(name)
    if secret is None:
        if rule is None:
            return ok(name, f"not there yet; `pulumi up` makes it of the configuration key {key}")
        return fail(name, "no secret, and the rule needs it: ECR cannot log in", "pulumi refresh, then pulumi up")
    if secret.deleted:
        return fail(
            name,
            "deleted, and its name is kept: ECR cannot read it, and `pulumi up` cannot make it",
            f"aws secretsmanager delete-secret --force-delete-without-recovery --secret-id {name}, then pulumi up",
        )
    if secret.key and not secret.key.endswith(OWN_KEYS):
        return fail(
            name,
            f"encrypted with {secret.key}: ECR reads secrets with aws/secretsmanager alone",
            f"aws secretsmanager update-secret --secret-id {name} --kms-key-id alias/aws/secretsmanager",
        )
    if rule is not None and (used := rule.get("credentialArn", "")) != secret.arn:
        return warn(name, f"the rule logs in with {used or 'nothing'}", "pulumi refresh, then pulumi up")
    return ok(name, "there" if rule is not None else "there, and no rule uses it yet")
