"""Toggles of the image cache."""

from tests.stack.toggles.toggle import Toggle

_ANONYMOUS = ["ecr-public", "quay", "k8s"]
_NODES = "RolePolicy cluster-system"
IMAGES = (
    # rules, templates and rights move; what the old prefix holds stays in ECR (docs/recovery.md)
    Toggle(
        path="imageCache.prefix",
        value="inference-two",
        changes=(
            *(f"PullThroughCacheRule images-{name}" for name in _ANONYMOUS),
            *(f"RepositoryCreationTemplate images-{name}" for name in _ANONYMOUS),
            _NODES,
        ),
        outputs=("imagePrefixes",),
    ),
    Toggle(
        path="imageCache.prefix",
        value="inference-two",
        stack="prod",
        changes=("Secret images-docker-hub", "Deployment gemma", "LifecyclePolicy images-engine"),
        outputs=("imagePrefixes", "imageRepositories"),
        replaces=("Repository images-engine",),
    ),
    Toggle(
        path="imageCache.upstreams",
        value=[],
        changes=(
            *(f"PullThroughCacheRule images-{name}" for name in _ANONYMOUS),
            *(f"RepositoryCreationTemplate images-{name}" for name in _ANONYMOUS),
            _NODES,
        ),
        outputs=("imagePrefixes",),
    ),
    # the engine is pulled from Docker Hub then
    Toggle(
        path="imageCache.upstreams",
        value=_ANONYMOUS,
        stack="prod",
        changes=(
            "PullThroughCacheRule images-docker-hub",
            "Secret images-docker-hub",
            "SecretVersion images-docker-hub",
            "Deployment gemma",
            _NODES,
        ),
        outputs=("imagePrefixes",),
    ),
    Toggle(
        path="imageCache.untaggedDays",
        value=7,
        stack="prod",
        changes=("RepositoryCreationTemplate images-quay", "LifecyclePolicy images-engine"),
    ),
    Toggle(path="imageCache.keepTags", value=5, changes=("RepositoryCreationTemplate images-quay",)),
    Toggle(
        path="imageCache.repositories",
        value={"engine": {"keepOnDestroy": True}},
        changes=("LifecyclePolicy images-engine",),
        outputs=("imageRepositories",),
        adds=("Repository images-engine",),
    ),
    Toggle(
        path="imageCache.repositories",
        value={},
        stack="prod",
        changes=("LifecyclePolicy images-engine",),
        outputs=("imageRepositories",),
        removes=("Repository images-engine",),
    ),
    Toggle(
        path="imageCache.repositories.engine.keepOnDestroy",
        value=False,
        stack="prod",
        changes=("Repository images-engine", "LifecyclePolicy images-engine"),
        options_only=True,
    ),
)
