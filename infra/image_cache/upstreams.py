"""The registries that ECR can cache, and where it cannot."""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.image_cache.reference import DOCKER_HUB


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """One row of ECR's list (API model of ecr, CreatePullThroughCacheRule)."""

    registry: str
    """Host in image references."""
    url: str
    """Host as the rule wants it."""
    credentials: str | None
    """The stack's configuration key that holds a user and a token; None: ECR asks for none."""


UPSTREAMS: Mapping[str, Upstream] = {
    "ecr-public": Upstream(registry="public.ecr.aws", url="public.ecr.aws", credentials=None),
    "quay": Upstream(registry="quay.io", url="quay.io", credentials=None),
    "k8s": Upstream(registry="registry.k8s.io", url="registry.k8s.io", credentials=None),
    "docker-hub": Upstream(registry=DOCKER_HUB, url="registry-1.docker.io", credentials="dockerHubCredentials"),
    # a token even for public images
    "ghcr": Upstream(registry="ghcr.io", url="ghcr.io", credentials="ghcrCredentials"),
}
"""By the name that ends the repository prefix. Not here, although ECR has them: GitLab, Azure, Chainguard, other ECR
registries. Not in ECR at all: nvcr.io."""

WITHOUT_RULES = ("cn-", "us-gov-")
"""Regions by prefix. The ECR user guide names them as without pull-through rules, and the ARN pattern of
CreatePullThroughCacheRule.credentialArn knows only `arn:aws:`. The newest guide could not be read: unproven."""


def cached_in(region: str) -> bool:
    """Whether ECR has pull-through rules in the region."""
    return not region.startswith(WITHOUT_RULES)
