"""A tar stream written below one folder as it arrives, with the rules of tarfile's `data` filter and stricter ones.

Written out because `tarfile` needs 3 times the CPU for small members, gets its data through copies, and has `filter=`
only from certain patch releases on. The stream is not verified yet when it is extracted: nothing in it is believed.
Refused: absolute names, "..", a name below a symbolic link, a name twice, links that leave the folder, devices, sparse
members, the marker's name. Owner ids are ignored, set-id bits and write bits of group and others are dropped.
"""

import errno
import os
import stat
from collections.abc import Mapping

from manifest import MARKER
from outcome import CorruptError

_SECTOR = 512
_LONGEST = 256 * 1024
"""Bytes of an extended header."""

_LATEST = 2**62
"""Nanoseconds; the kernel takes little more."""

_LONGEST_PART, _LONGEST_NAME = 255, 4095
"""Bytes that Linux takes of one name, and of a whole path. Longer ones are the archive's fault, not this disk's."""

_FOLDER_MODE = 0o755
_ZERO = bytes(_SECTOR)

_NO_DISK = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP})
"""What a disk says of a name, and says of it on every node: the archive's fault."""


class Untar:
    """Takes the stream in blocks that are multiples of 512 bytes. `root` is an open folder, new and empty."""

    def __init__(self, root: int, owner: tuple[int, int] | None) -> None:
        self.files = 0
        """Members so far that are not folders."""
        self._root = root
        self._owner = owner
        self._folders: dict[str, int | None] = {"": None}
        """Folders made, with their mtime."""
        self._others: dict[str, bool] = {}
        """Everything else made; true for a file, which a hard link may name."""
        self._fd = -1
        self._times = 0
        self._data = 0
        """Bytes of the current member still to come."""
        self._padding = 0
        self._extension: bytearray | None = None
        self._extends = b""
        self._pax: dict[str, str] = {}
        self._ended = False

    def feed(self, block: memoryview) -> None:
        """Extract the next block.

        Raises:
            CorruptError: the archive is not one that may be extracted.
            OSError: this disk does not take it.
        """
        position, end = 0, len(block)
        while position < end and not self._ended:
            if self._data:
                taken = block[position : position + self._data]
                self._take(taken)
                position += len(taken)
                self._data -= len(taken)
                if not self._data:
                    self._finish_member()
            elif self._padding:
                # blocks are multiples of 512, so padding never crosses one
                position += self._padding
                self._padding = 0
            else:
                header = bytes(block[position : position + _SECTOR])
                if len(header) < _SECTOR:
                    raise CorruptError("archive ends inside a header")
                position += _SECTOR
                try:
                    self._header(header)
                except OSError as error:
                    if error.errno not in _NO_DISK:
                        raise
                    raise CorruptError(f"a member that no disk takes: {error.strerror}") from None

    def finish(self) -> int:
        """Check that the archive ended where it says; give folders their times. Returns the number of files."""
        if not self._ended:
            raise CorruptError("archive has no end")
        for name, mtime in self._folders.items():
            if mtime is not None:
                os.utime(name or ".", ns=(mtime, mtime), dir_fd=self._root)
        return self.files

    def close(self) -> None:
        """Let go of a member that was cut off."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _header(self, header: bytes) -> None:
        if header == _ZERO:
            self._ended = True
            return
        if sum(header) - sum(header[148:156]) + 8 * 32 != _number(header[148:156]):
            raise CorruptError("a header's checksum is wrong")
        kind, size = header[156:157], _number(header[124:136])
        if size < 0:
            raise CorruptError(f"a member of {size} bytes")
        if kind in b"xgLK":
            if not 0 < size <= _LONGEST:
                raise CorruptError(f"an extended header of {size} bytes")
            self._extension, self._extends = bytearray(), kind
            self._expect(size)
            return
        pax, self._pax = self._pax, {}
        name = _text(header[0:100])
        if header[257:263] == b"ustar\0" and (prefix := _text(header[345:500])):
            name = f"{prefix}/{name}"
        name = pax.get("path", name)
        mtime = _nanoseconds(pax["mtime"]) if "mtime" in pax else _number(header[136:148]) * 10**9
        if abs(mtime) > _LATEST:
            raise CorruptError(f"{name!r}: a time of {mtime} ns")
        if kind == b"5" or (kind in b"0\0" and name.endswith("/")):
            self._folder(self._checked(name), mtime)
        elif kind in b"0\0007":
            self._file(self._checked(name), _number(header[100:108]), mtime)
            self._expect(_decimal(pax["size"]) if "size" in pax else size)
        elif kind in b"12":
            target = pax.get("linkpath", _text(header[157:257]))
            (self._hard_link if kind == b"1" else self._symlink)(self._checked(name), target)
        else:
            raise CorruptError(f"{name!r}: a member of type {kind!r}")

    def _expect(self, size: int) -> None:
        self._data, self._padding = size, -size % _SECTOR
        if not size:
            self._finish_member()

    def _take(self, data: memoryview) -> None:
        if self._extension is not None:
            self._extension += data
            return
        while data:
            data = data[os.write(self._fd, data) :]

    def _finish_member(self) -> None:
        if self._extension is not None:
            data, self._extension = bytes(self._extension), None
            if self._extends in b"LK":
                self._pax["path" if self._extends == b"L" else "linkpath"] = _text(data)
                return
            fields = _pax(data)
            if sparse := next((name for name in fields if name.startswith("GNU.sparse")), None):
                raise CorruptError(f"{sparse}: a sparse member")
            if self._extends == b"x":
                self._pax.update(fields)
            return
        os.utime(self._fd, ns=(self._times, self._times))
        self.close()

    def _file(self, name: str, mode: int, mtime: int) -> None:
        self._add(name, linkable=True)
        mode = mode & 0o755 | 0o600
        if not mode & stat.S_IXUSR:
            mode &= ~0o111
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd, self._times = os.open(name, flags, mode, dir_fd=self._root), mtime
        if self._owner:
            os.fchown(self._fd, *self._owner)

    def _symlink(self, name: str, target: str) -> None:
        # Only leading "..": after a link of the archive, ".." would climb from where that link leads.
        parts = target.split("/")
        up = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
        if not target or "\0" in target or target.startswith("/") or ".." in parts[up:] or up > name.count("/"):
            raise CorruptError(f"{name!r}: a link to {target!r}")
        if len(_bytes(target)) > _LONGEST_NAME:
            raise CorruptError(f"{name!r}: a link to a name of {len(_bytes(target))} bytes")
        self._add(name, linkable=False)
        os.symlink(target, name, dir_fd=self._root)
        if self._owner:
            os.chown(name, *self._owner, dir_fd=self._root, follow_symlinks=False)

    def _hard_link(self, name: str, target: str) -> None:
        to = self._checked(target)
        if not self._others.get(to):
            raise CorruptError(f"{name!r}: a link to {target!r}, which is no file of the archive")
        self._add(name, linkable=True)
        os.link(to, name, src_dir_fd=self._root, dst_dir_fd=self._root, follow_symlinks=False)

    def _add(self, name: str, *, linkable: bool) -> None:
        if not name or name in self._others or name in self._folders:
            raise CorruptError(f"{name!r} is there twice")
        if name == MARKER:
            raise CorruptError(f"{name!r} is reserved")
        self._folder(name.rpartition("/")[0], None)
        self._others[name] = linkable
        self.files += 1

    def _folder(self, name: str, mtime: int | None) -> None:
        if name not in self._folders:
            if name in self._others:
                raise CorruptError(f"{name!r} is no folder, and something lies below it")
            # what begins like the marker too: a draft of it may be written beside it
            if name.startswith(MARKER):
                raise CorruptError(f"{name!r} is reserved")
            self._folder(name.rpartition("/")[0], None)
            os.mkdir(name, _FOLDER_MODE, dir_fd=self._root)
            if self._owner:
                os.chown(name, *self._owner, dir_fd=self._root)
            self._folders[name] = mtime
        elif mtime is not None:
            self._folders[name] = mtime

    def _checked(self, name: str) -> str:
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if name.startswith("/") or ".." in parts or "\0" in name or len(parts) > 64:
            raise CorruptError(f"{name!r}: a name outside the folder")
        whole = "/".join(parts)
        if len(_bytes(whole)) > _LONGEST_NAME or any(len(_bytes(part)) > _LONGEST_PART for part in parts):
            raise CorruptError(f"{name[:80]!r}...: a name longer than a disk takes")
        return whole


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    if field[0] in {0o200, 0o377}:  # GNU's base 256, for what does not fit octal digits
        return int.from_bytes(field, "big", signed=True) if field[0] == 0o377 else int.from_bytes(field[1:], "big")
    try:
        return int(field.strip(b"\0 ") or b"0", 8)
    except ValueError:
        raise CorruptError(f"a header's number is {field!r}") from None


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise CorruptError(f"an extended header's number is {text[:40]!r}")
    return int(text)


def _nanoseconds(text: str) -> int:
    """Return a pax time without going through a float: ninja compares nanoseconds."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    value = _decimal(whole) * 10**9 + _decimal(fraction[:9].ljust(9, "0"))
    return -value if text.startswith("-") else value


def _pax(data: bytes) -> Mapping[str, str]:
    fields: dict[str, str] = {}
    while data:
        digits, space, _ = data.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 9 else 0
        record = data[len(digits) + 1 : length]
        name, equals, value = record.partition(b"=")
        if not space or not equals or not record.endswith(b"\n") or length > len(data):
            raise CorruptError("an extended header cannot be read")
        fields[name.decode("utf-8", "surrogateescape")] = value[:-1].decode("utf-8", "surrogateescape")
        data = data[length:]
    return fields
