"""A synthetic start-up cache: 1,204 files, 218,000,000 bytes, sizes as in facts/cold-start.md 2.2."""

import os
import random
from pathlib import Path

FILES = 1204
BYTES = 218_000_000
_SMALL, _LARGE = 1002, 26
"""Files of at most 64 KiB, and files of at least 1 MB."""
_LARGEST = 57_000_000


def sizes(files: int = FILES, total: int = BYTES) -> list[int]:
    """Return one size per file: median 12.7 kB, most of the bytes in a few files, as torch.compile leaves them."""
    pick = random.Random(6)  # noqa: S311 - the same content each time, no secret
    scale = total / BYTES
    small, large = _SMALL * files // FILES, max(1, _LARGE * files // FILES)
    found = [min(65_536, int(pick.lognormvariate(9.3, 1.0)) + 64) for _ in range(small)]
    found += [pick.randint(66_000, 400_000) for _ in range(files - small - large)]
    found = [max(1, int(size * min(1.0, scale * FILES / files))) for size in found]
    rest = total - sum(found)
    weights = [_LARGEST / 3e6, *(pick.uniform(0.5, 2.0) for _ in range(large - 1))]
    found += [int(rest * weight / sum(weights)) for weight in weights]
    found[-1] += total - sum(found)
    return found


def write(folder: Path, files: int = FILES, total: int = BYTES) -> None:
    """Write the content as loose files with times of nanoseconds."""
    pick = random.Random(7)  # noqa: S311 - as above
    noise = pick.randbytes(1 << 20)
    for index, size in enumerate(sizes(files, total)):
        path = folder / "vllm" / f"{index % 211:02x}{'ab' * 12}" / f"artifact_{index}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = pick.randrange(1 << 19)
        path.write_bytes((noise[start:] * (size // (1 << 19) + 1))[:size])
        time = 1_790_000_000_000_000_000 + pick.randrange(10**12)
        os.utime(path, ns=(time, time))
