"""What may go from the bucket, against a local S3."""

import json
from datetime import UTC, datetime, timedelta

from ops.cache import prune
from ops.cache.prune import SAFE_AGE, chosen
from ops.cache.shelf import Item, Shelf, described
from ops.cache.spare import OFFLINE
from ops.programs import Manifest
from ops.stack.stack_file import read
from tests.ops.cache.bucket import BUCKET, OLD, UNUSED, in_use, keys


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
    doomed = [item.key for item, _ in chosen(shelves, datetime.now(UTC) + OLD, unused=True)]
    monkeypatch.setattr(prune.aws, "client", lambda *_: Recorder())
    prune.remove(read("dev"), doomed)
    assert [sorted(name.rpartition(".")[2] for name in call) for call in calls] == [["json", "json"], ["tar", "tar"]]


def test_a_build_that_is_under_way_keeps_its_archive(ops, s3, put):
    """It uploads the archive first; the manifest that names it comes minutes later."""
    archive = put(UNUSED, b"orphan", named=False)
    assert ops("cache", "prune", "--unused", "--offline", "--yes") == (0, "nothing to remove\n", "")
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


def test_unused_caches_go_only_when_asked_for(ops, s3, put, key, later):
    used = {
        put(in_use(key), b"a"),
        put(in_use(key).base, b"b"),
        in_use(key).manifest_key,
        in_use(key).base.manifest_key,
    }
    put(UNUSED, b"c")
    put(UNUSED.base, b"d")
    assert ops("cache", "prune", "--yes") == (0, "nothing to remove\n", "")
    assert ops("cache", "prune", "--unused", "--offline", "--yes")[0] == 0
    assert keys(s3) == used


def test_an_unused_cache_of_today_is_kept(ops, s3, put):
    """A branch has just built it, and its stack file is not here."""
    kept = {put(UNUSED, b"c"), put(UNUSED.base, b"d"), UNUSED.manifest_key, UNUSED.base.manifest_key}
    assert ops("cache", "prune", "--unused", "--offline", "--yes") == (0, "nothing to remove\n", "")
    assert keys(s3) == kept


def test_the_newest_of_an_unused_cache_decides_over_all_of_it():
    """Without its old archive the manifest of today would name nothing."""
    now = datetime.now(UTC)
    sha256 = "0" * 64
    archive = Item(key=UNUSED.archive_key(sha256), bytes=1, modified=now - OLD)
    named = Manifest(folder=UNUSED, sha256=sha256, bytes=1, files=1, created="2026-11-29T10:00:00Z", recipe={})

    def unused(age):
        items = [archive, Item(key=UNUSED.manifest_key, bytes=1, modified=now - age)]
        found = Shelf(folder=UNUSED, items=items, manifest=named, problem="", unreadable=False, used_by=[])
        return [item for item, _ in chosen([found], now, unused=True)]

    assert unused(SAFE_AGE) == []
    assert [item.key for item in unused(SAFE_AGE + timedelta(seconds=1))] == [archive.key, UNUSED.manifest_key]


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
    assert ops("cache", "prune", "--unused", "--offline", "--yes")[0] == 0
    assert keys(s3) == strangers


def test_an_archive_beside_a_manifest_that_nobody_can_read_is_kept(ops, s3, put, key, later):
    """A later format may name it."""
    put(in_use(key), b"a", named=False)
    s3.put_object(Bucket=BUCKET, Key=in_use(key).manifest_key, Body=b'{"format": 2}')
    (found,) = json.loads(ops("cache", "ls", "--json")[1])
    assert found["problem"] == "manifest.json: format 2: this program reads 1"
    assert ops("cache", "prune", "--yes") == (0, "nothing to remove\n", "")


def test_what_s3_keeps_is_not_called_removed(ops, put, later, monkeypatch):
    put(UNUSED, b"c")
    kept = {"Key": "k", "Code": "AccessDenied", "Message": "no"}
    real = prune.aws.client

    def client(service, region):
        made = real(service, region)
        made.delete_objects = lambda **_: {"Errors": [kept]}
        return made

    monkeypatch.setattr(prune.aws, "client", client)
    assert ops("cache", "prune", "--unused", "--offline", "--yes") == (
        3,
        "",
        f"{OFFLINE}\nbucket {BUCKET}: S3 kept k: AccessDenied: no (needs s3:DeleteObject on a bucket of account.id)\n",
    )


def test_a_key_moves_no_cursor():
    item = Item(key="vllm-cache/a\x1b[2J\nb.tar", bytes=0, modified=datetime.now(UTC))
    assert prune.table([prune.Doomed(item, prune.ORPHAN)]) == r"0.0 MiB  vllm-cache/a\x1b[2J\nb.tar  orphan"
