"""The bucket for model weights, start-up caches and data sets: itself, its policy, and who may do what in it."""

from infra.model_bucket.model_bucket import ModelBucket, ModelBucketArgs
from infra.model_bucket.prefixes import CACHES, DATASETS, MANIFEST, MODELS
from infra.model_bucket.settings import ModelBucketSettings

__all__ = ["CACHES", "DATASETS", "MANIFEST", "MODELS", "ModelBucket", "ModelBucketArgs", "ModelBucketSettings"]
