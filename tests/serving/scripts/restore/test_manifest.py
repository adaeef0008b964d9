"""One format of keys and manifests: what is written is read, and everything else is one line."""

import json
import re

import pytest

from manifest import BASE, MAX_BYTES, MAX_MANIFEST, Folder, Manifest, ManifestError, parse

FOLDER = Folder("vllm-openai:v0.26.0", "l40s", "chat", "0123abcd")
MANIFEST = Manifest(
    folder=FOLDER, sha256="a" * 64, bytes=10240, files=3, created="2026-11-29T10:00:00Z", recipe={"vllm": "0.26.0"}
)


def changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(MANIFEST.dump()), **fields}).encode()


def test_what_is_written_is_read():
    assert parse(MANIFEST.dump(), FOLDER) == MANIFEST


def test_keys_lie_below_the_folder_and_the_base_beside_it():
    assert FOLDER.prefix == "vllm-cache/vllm-openai:v0.26.0/l40s/chat/0123abcd/"
    assert FOLDER.base.prefix == "vllm-cache/vllm-openai:v0.26.0/l40s/chat/base/"
    assert FOLDER.manifest_key == f"{FOLDER.prefix}manifest.json"
    assert MANIFEST.archive_key == f"{FOLDER.prefix}{'a' * 64}.tar"
    assert FOLDER.base.fingerprint == BASE


@pytest.mark.parametrize("part", ["", ".", "..", "a..b", "a/b", "/a", "a//b", "a\n", "a*", "a?", "ü", "a" * 201, None])
@pytest.mark.parametrize("field", ["engine", "gpu", "model", "fingerprint"])
def test_a_part_that_would_be_another_key_is_refused(field: str, part: object):
    parts = {"engine": "e", "gpu": "g", "model": "m", "fingerprint": "0123abcd", field: part}
    with pytest.raises(ManifestError, match=rf"^{field} .*: want "):
        Folder(**parts)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"\xff", "not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"[" * 100_000, "not JSON: maximum recursion depth exceeded"),
        (b"[]", "[]: want an object"),
        (b'{"a": 1, "a": 2}', "a key is there twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b" " * (MAX_MANIFEST + 1), f"{MAX_MANIFEST + 1} bytes > {MAX_MANIFEST}"),
        (changed(format=2), "format 2: this program reads 1"),
        (changed(format=True), "format True: this program reads 1"),
        (changed(more=1), "unknown: 'more'"),
        (b'{"format": 1, "archive": "x"}', "missing: bytes, created, engine, "),
        (changed(archive="../x.tar"), f"archive '../x.tar': want '{'a' * 64}.tar'"),
        (changed(sha256="A" * 64), "sha256 'AAAA"),
        (changed(bytes=0), f"bytes 0: want a whole number, 1 to {MAX_BYTES}"),
        (changed(bytes=1.0), "bytes 1.0: want a whole number"),
        (changed(bytes=MAX_BYTES + 1), f"bytes {MAX_BYTES + 1}: want"),
        (changed(files=True), "files True: want a whole number"),
        (changed(root="/other"), "root '/other': want '/vllm-cache'"),
        (changed(created="yesterday"), "created 'yesterday': want UTC as 2026-11-29T10:00:00Z"),
        (changed(recipe=[]), "recipe []: want an object"),
        (changed(model="chit"), "model 'chit': it was read below 'chat'"),
        (changed(fingerprint="ffffffff"), "fingerprint 'ffffffff': it was read below '0123abcd'"),
    ],
)
def test_anything_else_is_one_line(raw: bytes, message: str):
    with pytest.raises(ManifestError, match=f"^{re.escape(message)}") as caught:
        parse(raw, FOLDER)
    assert "\n" not in str(caught.value)


def test_a_recipe_that_no_reader_would_take_is_not_written():
    fields = {**vars(MANIFEST), "recipe": {"long": "x" * MAX_MANIFEST}}
    with pytest.raises(ManifestError, match="the recipe is too long"):
        Manifest(**fields).dump()
