"""What lies in the bucket, against a local S3."""

import json

import pytest

from ops.cache import shelf
from ops.programs import MAX_MANIFEST
from tests.ops.cache.bucket import BUCKET, UNUSED, in_use, keys
from tests.ops.conftest import ACCOUNT


def test_every_cache_is_listed_with_who_uses_it(ops, put, key):
    whole = put(in_use(key), b"x" * 1000)
    put(in_use(key).base, b"y" * 500)
    put(UNUSED, b"z" * 100)
    orphan = put(UNUSED, b"orphan", named=False)
    code, out, err = ops("cache", "ls", "--json")
    found = {it["prefix"]: it for it in json.loads(out)}
    assert (code, err) == (0, "")
    assert {prefix: it["usedBy"] for prefix, it in found.items()} == {
        key["exact"]: ["gemma"],
        key["base"]: ["gemma"],
        UNUSED.prefix: [],
    }
    exact = found[key["exact"]]
    assert exact["bytes"] > 1000
    assert {part: exact[part] for part in ("engine", "gpu", "model", "fingerprint", "created", "orphans")} == {
        **{part: key[part] for part in ("engine", "gpu", "model", "fingerprint")},
        "created": "2026-11-29T10:00:00Z",
        "orphans": [],
    }
    assert found[UNUSED.prefix]["orphans"] == [orphan]
    assert whole not in found[key["exact"]]["orphans"]


def test_people_see_a_line_for_each(ops, put, key):
    put(in_use(key), b"x" * 3 * 1024**2)
    put(UNUSED, b"orphan", named=False)
    code, out, _ = ops("cache", "ls")
    lines = [line.split("  ") for line in out.splitlines()]
    assert code == 0
    assert [[cell.strip() for cell in line if cell] for line in lines] == [
        ["FOLDER", "SIZE", "CREATED", "USED BY", "REMARK"],
        [UNUSED.prefix.removeprefix("vllm-cache/"), "0.0 MiB", "-", "-", "no manifest.json; 1 orphan"],
        [key["exact"].removeprefix("vllm-cache/"), "3.0 MiB", "2026-11-29T10:00:00Z", "gemma", "-"],
    ]


def test_an_empty_bucket_is_no_mistake(ops, s3):
    assert ops("cache", "ls") == (0, "nothing below vllm-cache/\n", "")
    assert ops("cache", "prune", "--unused", "--offline", "--yes") == (0, "nothing to remove\n", "")


def test_a_bucket_that_is_not_there_is_a_failed_check(ops, aws):
    code, out, err = ops("cache", "ls")
    assert (code, out) == (1, "")
    assert err == f"bucket {BUCKET}: AWS answers NoSuchBucket: The specified bucket does not exist\n"


@pytest.mark.parametrize("length", [0, MAX_MANIFEST + 1])
def test_a_manifest_of_an_impossible_size_hides_no_other_cache(ops, s3, put, key, later, length):
    """S3 answers a range of an empty object with 416, and that would end the listing of everything."""
    whole = put(in_use(key), b"a")
    archive = put(UNUSED, b"b", named=False)
    s3.put_object(Bucket=BUCKET, Key=UNUSED.manifest_key, Body=b" " * length)
    code, out, err = ops("cache", "ls", "--json")
    assert (code, err) == (0, "")
    assert {it["prefix"]: it["problem"] for it in json.loads(out)} == {
        key["exact"]: None,
        UNUSED.prefix: f"manifest.json: {length} bytes; expected 1 to {MAX_MANIFEST}",
    }
    assert ops("cache", "prune", "--yes") == (0, "nothing to remove\n", "")
    assert keys(s3) == {whole, in_use(key).manifest_key, archive, UNUSED.manifest_key}


def test_a_manifest_that_goes_while_it_is_listed_hides_no_other_cache(ops, s3, put, key, monkeypatch):
    """Somebody prunes."""
    put(in_use(key), b"a")
    put(UNUSED, b"b" * 100)
    listed = shelf._listed

    def then_pruned(*asked):
        yield from list(listed(*asked))
        s3.delete_object(Bucket=BUCKET, Key=UNUSED.manifest_key)

    monkeypatch.setattr(shelf, "_listed", then_pruned)
    code, out, err = ops("cache", "ls", "--json")
    assert (code, err) == (0, "")
    found = {it["prefix"]: it for it in json.loads(out)}
    assert {prefix: it["problem"] for prefix, it in found.items()} == {
        key["exact"]: None,
        UNUSED.prefix: "no manifest.json",
    }
    assert found[UNUSED.prefix]["bytes"] == 100


def test_a_bucket_of_another_account_is_never_touched(ops, put, key, later, owner):
    """The name alone may lead to somebody else's bucket that these credentials reach."""
    put(in_use(key), b"a")
    put(UNUSED, b"b")
    owner("999988887777")
    needs = "needs s3:ListBucket on a bucket of account.id"
    denied = (3, "", f"bucket {BUCKET}: AWS answers AccessDenied: Access Denied ({needs})\n")
    assert ops("cache", "ls") == denied
    assert ops("cache", "prune", "--unused", "--offline", "--yes") == denied
    calls = owner(ACCOUNT)
    assert ops("cache", "ls")[0] == 0
    assert ops("cache", "prune", "--unused", "--offline", "--yes")[0] == 0
    assert {*calls} == {"ListObjectsV2", "GetObject", "DeleteObjects"}


def test_a_manifest_without_its_archive_is_told(ops, s3, put, key):
    s3.delete_object(Bucket=BUCKET, Key=put(in_use(key), b"a"))
    assert ops("cache", "ls")[1].splitlines()[1].endswith("gemma    its archive is not there")
