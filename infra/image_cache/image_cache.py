"""The rules, templates and credentials of the cache, and the stack's own repositories."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import ecr, secretsmanager

from infra.image_cache.documents import cached_lifecycle, own_lifecycle
from infra.image_cache.settings import ImageCacheSettings
from infra.image_cache.upstreams import UPSTREAMS

SECRET_FOLDER = "ecr-pullthroughcache"  # noqa: S105 - the name that ECR prescribes, not a secret
"""ECR reads secrets of no other name (API model of ecr, credentialArn)."""

AES256 = "AES256"
"""ECR's own key: pulling nodes, and ECR when it makes a repository, need no KMS rights."""


@dataclass(frozen=True, kw_only=True)
class ImageCacheArgs:
    """Plain values, and secrets by upstream (`credentials.credentials`)."""

    settings: ImageCacheSettings
    credentials: Mapping[str, pulumi.Output[str]]


class ImageCache(pulumi.ComponentResource):
    """What must exist before the first node pulls.

    Repositories that the cache makes are ECR's, not the stack's: a destroy leaves them, and their storage costs until
    they are deleted (docs/recovery.md).
    """

    prefixes: Mapping[str, pulumi.Output[str]]
    """Repository prefix by upstream name; known when its rule is there."""
    repositories: Mapping[str, pulumi.Output[str]]
    """URL by name of an own repository."""

    def __init__(self, name: str, args: ImageCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:ImageCache", name, None, opts)

        rules = {upstream: self._rule(name, upstream, args) for upstream in args.settings.upstreams}
        own = {key: self._repository(name, key, args) for key in args.settings.repositories}

        self.prefixes = {key: rule.ecr_repository_prefix for key, rule in rules.items()}
        self.repositories = {key: made.repository_url for key, made in own.items()}
        self.register_outputs({"prefixes": self.prefixes, "repositories": self.repositories})

    def _rule(self, name: str, upstream: str, args: ImageCacheArgs) -> ecr.PullThroughCacheRule:
        prefix = f"{args.settings.prefix}/{upstream}"
        # a repository takes its template when it is made, never later: the template comes first
        template = ecr.RepositoryCreationTemplate(
            f"{name}-{upstream}",
            prefix=prefix,
            description=f"Images of {UPSTREAMS[upstream].registry}",
            applied_fors=["PULL_THROUGH_CACHE"],
            # a tag that moves upstream could not follow otherwise
            image_tag_mutability="MUTABLE",
            encryption_configurations=[{"encryption_type": AES256}],
            lifecycle_policy=cached_lifecycle(args.settings.untagged_days, args.settings.keep_tags),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return ecr.PullThroughCacheRule(
            f"{name}-{upstream}",
            ecr_repository_prefix=prefix,
            upstream_registry_url=UPSTREAMS[upstream].url,
            credential_arn=self._credential(name, upstream, args),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[template]),
        )

    def _credential(self, name: str, upstream: str, args: ImageCacheArgs) -> pulumi.Output[str] | None:
        if UPSTREAMS[upstream].credentials is None:
            return None
        secret = secretsmanager.Secret(
            f"{name}-{upstream}",
            name=f"{SECRET_FOLDER}/{args.settings.prefix}/{upstream}",
            description=f"How ECR reads {UPSTREAMS[upstream].registry}",
            # AWS keeps a deleted name for 7 days or more, and the next `up` would fail on it
            recovery_window_in_days=0,
            # no key of its own: ECR decrypts with aws/secretsmanager alone
            opts=pulumi.ResourceOptions(parent=self),
        )
        version = secretsmanager.SecretVersion(
            f"{name}-{upstream}",
            secret_id=secret.id,
            secret_string=args.credentials[upstream],
            opts=pulumi.ResourceOptions(parent=self),
        )
        # the version's: ECR tries the credentials when the rule is made
        return version.secret_arn

    def _repository(self, name: str, key: str, args: ImageCacheArgs) -> ecr.Repository:
        keep = args.settings.repositories[key].keep_on_destroy
        repository = ecr.Repository(
            f"{name}-{key}",
            name=f"{args.settings.prefix}/{key}",
            # a tag is as good as a digest here
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration={"scan_on_push": True},
            encryption_configurations=[{"encryption_type": AES256}],
            # images are built for hours: a repository that holds some stops a destroy
            force_delete=False,
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=keep),
        )
        ecr.LifecyclePolicy(
            f"{name}-{key}",
            repository=repository.name,
            policy=own_lifecycle(args.settings.untagged_days),
            # every change replaces it, and its id is the repository's: removing the old one would remove the new one
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=keep, delete_before_replace=True),
        )
        return repository
