"""The dev stack's bucket, and two caches that may lie in it."""

from datetime import timedelta

from ops.programs import Folder

BUCKET = "vllm-eks-dev-models-000000000000"
OLD = timedelta(days=2)
UNUSED = Folder("an-engine", "l4", "m_sr1", "0123456789abcdef")


def in_use(key):
    return Folder(key["engine"], key["gpu"], key["model"], key["fingerprint"])


def keys(s3):
    return {it["Key"] for it in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())}
