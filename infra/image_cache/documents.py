"""What is written down for ECR and for the nodes: lifecycle policies and IAM statements."""

import json
from collections.abc import Sequence
from typing import Any

from infra.iam import Statement
from infra.image_cache.settings import ImageCacheSettings
from infra.naming import Place


def cached_lifecycle(untagged_days: int, keep_tags: int) -> str:
    """Return the lifecycle policy of repositories that the cache makes.

    A tag that goes is cached again by the next pull. Tags are counted, not images: the single architectures of an
    image are untagged, and go only after the image that lists them (ECR user guide, LifecyclePolicies).
    """
    return _policy(
        _untagged(1, untagged_days),
        {
            "rulePriority": 2,
            "description": f"the last {keep_tags} tags",
            "selection": {
                "tagStatus": "tagged",
                "tagPatternList": ["*"],
                "countType": "imageCountMoreThan",
                "countNumber": keep_tags,
            },
            "action": {"type": "expire"},
        },
    )


def own_lifecycle(untagged_days: int) -> str:
    """Return the lifecycle policy of an own repository. No tag ever goes: nothing would bring it back."""
    return _policy(_untagged(1, untagged_days))


def _untagged(priority: int, days: int) -> dict[str, Any]:
    return {
        "rulePriority": priority,
        "description": f"images without a tag for {days} days",
        "selection": {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": days,
        },
        "action": {"type": "expire"},
    }


def _policy(*rules: dict[str, Any]) -> str:
    return json.dumps({"rules": rules})


def node_statements(settings: ImageCacheSettings, place: Place) -> Sequence[Statement]:
    """Return what a node role needs beyond `AmazonEC2ContainerRegistryPullOnly`; nothing when nothing is cached.

    The first pull of an image makes its repository, and that managed policy does not allow it (aws.md 0.2).
    """
    if not settings.upstreams:
        return ()
    registry = place.arn("ecr", "repository")
    return (
        {
            "Sid": "PullThrough",
            "Effect": "Allow",
            "Action": ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"],
            "Resource": [f"{registry}/{settings.prefix}/{name}/*" for name in sorted(settings.upstreams)],
        },
    )
