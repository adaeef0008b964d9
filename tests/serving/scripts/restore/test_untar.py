"""No archive writes outside its folder: an extraction runs before the hash of the whole is known."""

import contextlib
import errno
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manifest import MARKER
from outcome import CorruptError
from tests.serving.scripts.restore.rig import Rig, archive, content, publish, tree
from untar import Untar


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", data: bytes = b"", mode: int = 0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, len(data), mode
    return info, data


def packed(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def extract(raw: bytes, into: Path, step: int = 10240) -> int:
    into.mkdir()
    root = os.open(into, os.O_DIRECTORY)
    untar = Untar(root, None)
    try:
        for start in range(0, len(raw), step):
            untar.feed(memoryview(raw)[start : start + step])
        return untar.finish()
    finally:
        untar.close()
        os.close(root)


HOSTILE = {
    "climbs": [member("../up", data=b"x")],
    "climbs inside": [member("a/../../up", data=b"x")],
    "absolute": [member("/up", data=b"x")],
    "absolute link": [member("l", tarfile.SYMTYPE, "/etc/passwd")],
    "link that climbs": [member("a/l", tarfile.SYMTYPE, "../../up")],
    "link that climbs from a link": [member("d", tarfile.SYMTYPE, "."), member("a/l", tarfile.SYMTYPE, "d/../up")],
    "file below a link": [member("l", tarfile.SYMTYPE, "."), member("l/x", data=b"x")],
    "file over a link": [member("l", tarfile.SYMTYPE, "x"), member("l", data=b"x")],
    "folder over a link": [member("l", tarfile.SYMTYPE, "x"), member("l", tarfile.DIRTYPE)],
    "hard link outside": [member("l", tarfile.LNKTYPE, "../up")],
    "hard link to nothing": [member("l", tarfile.LNKTYPE, "x")],
    "hard link to a link": [member("l", tarfile.SYMTYPE, "x"), member("h", tarfile.LNKTYPE, "l")],
    "file below a file": [member("x", data=b"x"), member("x/y", data=b"x")],
    "twice": [member("x", data=b"x"), member("./x", data=b"y")],
    "device": [member("d", tarfile.CHRTYPE)],
    "block device": [member("d", tarfile.BLKTYPE)],
    "pipe": [member("d", tarfile.FIFOTYPE)],
    "marker": [member(MARKER, data=b"{}")],
    "nameless": [member("./", data=b"x")],
    "part longer than a disk takes": [member("a/" + "é" * 128, data=b"x")],
    "folder longer than a disk takes": [member("b" * 256, tarfile.DIRTYPE)],
    "name longer than a disk takes": [member("/".join(["b" * 200] * 21), data=b"x")],
    "link longer than a disk takes": [member("l", tarfile.SYMTYPE, "b/" * 2048)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_corrupt_and_leaves_nothing(name: str, rig: Rig, tmp_path: Path):
    raw = packed(member("good", data=b"good"), *HOSTILE[name])
    publish(rig.bucket, raw, 1 + sum(info.type != tarfile.DIRTYPE for info, _ in HOSTILE[name]))
    run = rig.run()
    assert (run.outcome, rig.tree()) == ("corrupt", {})
    assert not list(tmp_path.glob("**/up"))


@pytest.mark.parametrize(
    ("hostile", "name"),
    [
        (member(MARKER, tarfile.DIRTYPE), MARKER),
        (member(f"{MARKER}/x", data=b"x"), MARKER),
        (member(f"{MARKER}.draft/x", data=b"x"), f"{MARKER}.draft"),
    ],
    ids=["folder", "below it", "beside it"],
)
def test_a_folder_in_the_markers_place_is_corrupt(hostile: tuple[tarfile.TarInfo, bytes], name: str, rig: Rig):
    publish(rig.bucket, packed(member("good", data=b"good"), hostile), 2)
    run = rig.run()
    assert (run.outcome, run.reason) == ("corrupt", f"{rig.folder.fingerprint}: '{name}' is reserved")
    assert rig.tree() == {}


@pytest.mark.parametrize(
    "hostile",
    [member("/".join(["a" * 250] * 20), data=b"x"), member("l", tarfile.SYMTYPE, "x" * 5000)],
    ids=["path", "target"],
)
def test_a_name_longer_than_a_path_is_corrupt(hostile: tuple[tarfile.TarInfo, bytes], rig: Rig):
    publish(rig.bucket, packed(member("good", data=b"good"), hostile), 2)
    assert (rig.run().outcome, rig.tree()) == ("corrupt", {})


@pytest.mark.parametrize("code", [errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP])
def test_a_name_that_a_disk_refuses_is_the_archives_fault(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), "a name")

    monkeypatch.setattr(os, "symlink", refused)
    with pytest.raises(CorruptError, match=f"^a member that no disk takes: {os.strerror(code)}$"):
        extract(packed(member("l", tarfile.SYMTYPE, "x")), tmp_path / "x")


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_what_tarfile_extracts_is_what_is_extracted(form: int, tmp_path: Path):
    long = "a/" * 30 + "b" * 60 if form == tarfile.USTAR_FORMAT else "a/" * 60 + "b" * 150
    raw = packed(
        member("./", tarfile.DIRTYPE, mode=0o777),
        member("empty", tarfile.DIRTYPE),
        member("./run", data=b"#!", mode=0o6775),
        member("plain", data=b"x" * 70_000, mode=0o466),
        member("none"),
        member(long, data=b"long"),
        member("deep/link", tarfile.SYMTYPE, "../plain"),
        member("hard", tarfile.LNKTYPE, "plain"),
        form=form,
    )
    assert extract(raw, tmp_path / "ours") == 6
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        tar.extractall(tmp_path / "theirs", filter="data")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert tree(ours) == tree(theirs)
    for path in ours.rglob("*"):
        twin = theirs / path.relative_to(ours)
        assert path.is_symlink() == twin.is_symlink()
        if path.is_file():
            assert path.lstat().st_mode & ~0o022 == twin.lstat().st_mode & ~0o022, path
            assert path.lstat().st_nlink == twin.lstat().st_nlink
    assert (ours / "run").stat().st_mode & 0o7777 == 0o755


def test_the_size_of_blocks_makes_no_difference(tmp_path: Path):
    members = content(9, 3000)
    for step in (512, 1024, 4096, 1 << 20):
        extract(archive(members), tmp_path / str(step), step)
        assert tree(tmp_path / str(step)) == members


def test_an_archive_that_ends_early_is_corrupt(tmp_path: Path):
    raw = archive(content(3))
    for end in range(0, len(raw) - 20 * 512, 512 * 7):
        with pytest.raises(CorruptError):
            extract(raw[:end], tmp_path / str(end))


@pytest.mark.parametrize("field", [slice(124, 136), slice(136, 148)], ids=["size", "time"])
@pytest.mark.parametrize("value", [b"\xff" * 12, b"\x80" + b"\x7f" * 11, b"-1".rjust(12), b"9".rjust(12)], ids=repr)
def test_a_number_out_of_range_is_corrupt(field: slice, value: bytes, tmp_path: Path):
    raw = bytearray(packed(member("x", data=b"x"), form=tarfile.USTAR_FORMAT))
    raw[field] = value
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    if field.start == 136 and value in {b"\xff" * 12, b"-1".rjust(12)}:
        extract(bytes(raw), tmp_path / "x")  # one second before 1970 is a time
        return
    with pytest.raises(CorruptError):
        extract(bytes(raw), tmp_path / "x")


def test_a_sparse_member_is_corrupt(tmp_path: Path):
    info, data = member("x", data=b"x" * 512)
    info.pax_headers = {"GNU.sparse.major": "1"}
    with pytest.raises(CorruptError, match=r"GNU\.sparse\.major: a sparse member"):
        extract(packed((info, data)), tmp_path / "x")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damage_is_corrupt_or_stays_in_the_folder(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    """Only the two errors that a restore knows, whatever the bytes are."""
    raw = bytearray(packed(member("a/b", data=b"x" * 600), member("l", tarfile.SYMTYPE, "a"), member("c" * 120)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw) - 1))
        patch = data.draw(st.sampled_from([b"..", b"/", b"\0", b"7", b"\xff\xff", b"x", b"=", b"-1", b"1"]))
        raw[start : start + len(patch)] = patch
        block = start // 512 * 512
        raw[block + 148 : block + 156] = b" " * 8
        raw[block + 148 : block + 156] = b"%06o\0 " % sum(raw[block : block + 512])
    folder = tmp_path_factory.mktemp("damage")
    with contextlib.suppress(CorruptError, OSError):
        extract(bytes(raw[: len(raw) // 512 * 512]), folder / "in")
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_owner_ids_of_the_archive_are_ignored(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    info, data = member("x", data=b"x")
    info.uid = info.gid = 4321
    publish(rig.bucket, packed((info, data)), 1)
    assert rig.run().outcome == "hit"
    assert (rig.target / "x").stat().st_uid == os.geteuid()
