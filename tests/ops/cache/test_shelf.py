"""What lies in the bucket and what may go, against a local S3."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest

from ops.cache import prune
from ops.cache.prune import chosen
from ops.cache.shelf import described
from ops.programs import Folder, Manifest
from ops.stack_file import read

BUCKET = "vllm-eks-dev-models-000000000000"
OLD = timedelta(days=2)


@pytest.fixture
def s3(aws):
    client = aws("s3")
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    return client


@pytest.fixture
def key(ops):
    return json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])


@pytest.fixture
def put(s3):
    """`put(folder, b"...")`: an archive; with `named=True` and its manifest."""

    def write(folder, content, *, named=True):
        sha256 = hashlib.sha256(content).hexdigest()
        s3.put_object(Bucket=BUCKET, Key=folder.archive_key(sha256), Body=content)
        if named:
            manifest = Manifest(
                folder=folder,
                sha256=sha256,
                bytes=len(content),
                files=1,
                created="2026-11-29T10:00:00Z",
                recipe={"engineVersion": "0.33.0"},
            )
            s3.put_object(Bucket=BUCKET, Key=folder.manifest_key, Body=manifest.dump())
        return folder.archive_key(sha256)

    return write


@pytest.fixture
def later(monkeypatch):
    """`prune` two days from now."""

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + OLD

    monkeypatch.setattr(prune, "datetime", Later)


def keys(s3):
    return {it["Key"] for it in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())}


def in_use(key):
    return Folder(key["engine"], key["gpu"], key["model"], key["fingerprint"])


UNUSED = Folder("an-engine", "l4", "m_sr1", "0123456789abcdef")


def test_manifests_go_before_any_archive(folder, put, s3, monkeypatch):
    """A restore between the two finds a miss, and never half of a cache."""
    put(UNUSED, b"c")
    put(UNUSED.base, b"d")
    calls = []

    class Recorder:
        def delete_objects(self, **request):
            calls.append([it["Key"] for it in request["Delete"]["Objects"]])
            return {}

    shelves = described(read("dev"))
    doomed = [item.key for item, _ in chosen(shelves, datetime.now(UTC), unused=True)]
    monkeypatch.setattr(prune.aws, "client", lambda *_: Recorder())
    prune._remove(read("dev"), doomed)
    assert [sorted(name.rpartition(".")[2] for name in call) for call in calls] == [["json", "json"], ["tar", "tar"]]


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
    assert ops("cache", "prune", "--unused", "--yes") == (0, "nothing to remove\n", "")


def test_a_bucket_that_is_not_there_is_a_failed_check(ops, aws):
    code, out, err = ops("cache", "ls")
    assert (code, out) == (1, "")
    assert err == f"bucket {BUCKET}: AWS answers NoSuchBucket: The specified bucket does not exist\n"


def test_a_build_that_is_under_way_keeps_its_archive(ops, s3, put):
    """It uploads the archive first; the manifest that names it comes minutes later."""
    archive = put(UNUSED, b"orphan", named=False)
    assert ops("cache", "prune", "--unused", "--yes") == (0, "nothing to remove\n", "")
    assert keys(s3) == {archive}


def test_without_yes_nothing_goes(ops, s3, put, later):
    archive = put(UNUSED, b"orphan", named=False)
    code, out, _ = ops("cache", "prune")
    assert (code, out) == (0, f"0.0 MiB  {archive}  orphan\n0.0 MiB; nothing is removed without --yes\n")
    assert keys(s3) == {archive}


def test_orphans_go_and_named_archives_stay(ops, s3, put, key, later):
    named = put(in_use(key), b"named")
    other = put(UNUSED, b"other")
    put(in_use(key), b"orphan", named=False)
    code, out, _ = ops("cache", "prune", "--yes")
    assert code == 0
    assert out.splitlines()[-1] == "removed: 0.0 MiB"
    assert keys(s3) == {named, in_use(key).manifest_key, other, UNUSED.manifest_key}


def test_unused_caches_go_only_when_asked_for(ops, s3, put, key):
    used = {
        put(in_use(key), b"a"),
        put(in_use(key).base, b"b"),
        in_use(key).manifest_key,
        in_use(key).base.manifest_key,
    }
    put(UNUSED, b"c")
    put(UNUSED.base, b"d")
    assert ops("cache", "prune", "--yes") == (0, "nothing to remove\n", "")
    assert ops("cache", "prune", "--unused", "--yes")[0] == 0
    assert keys(s3) == used


def test_nothing_outside_of_the_caches_ever_goes(ops, s3, put, later):
    strangers = {
        "models/m/r1/x.tar",
        "vllm-cache-of-mine/e/g/m/0123456789abcdef/x.tar",
        "vllm-cache/x.tar",
        "vllm-cache/e/g/m/not-a-fingerprint/x.tar",
        "vllm-cache/e/g/m/0123456789abcdef/deeper/x.tar",
    }
    for name in strangers:
        s3.put_object(Bucket=BUCKET, Key=name, Body=b"x")
    put(UNUSED, b"c")
    assert ops("cache", "prune", "--unused", "--yes")[0] == 0
    assert keys(s3) == strangers


def test_an_archive_beside_a_manifest_that_nobody_can_read_is_kept(ops, s3, put, key, later):
    """A later format may name it."""
    put(in_use(key), b"a", named=False)
    s3.put_object(Bucket=BUCKET, Key=in_use(key).manifest_key, Body=b'{"format": 2}')
    (found,) = json.loads(ops("cache", "ls", "--json")[1])
    assert found["problem"] == "manifest.json: format 2: this program reads 1"
    assert ops("cache", "prune", "--yes") == (0, "nothing to remove\n", "")


def test_a_manifest_without_its_archive_is_told(ops, s3, put, key):
    s3.delete_object(Bucket=BUCKET, Key=put(in_use(key), b"a"))
    assert ops("cache", "ls")[1].splitlines()[1].endswith("gemma    its archive is not there")


def test_what_s3_keeps_is_not_called_removed(ops, put, monkeypatch):
    put(UNUSED, b"c")
    kept = {"Key": "k", "Code": "AccessDenied", "Message": "no"}
    real = prune.aws.client

    def client(service, region):
        made = real(service, region)
        made.delete_objects = lambda **_: {"Errors": [kept]}
        return made

    monkeypatch.setattr(prune.aws, "client", client)
    assert ops("cache", "prune", "--unused", "--yes") == (
        3,
        "",
        f"bucket {BUCKET}: S3 kept k: AccessDenied: no\n",
    )
