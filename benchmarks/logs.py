"""How fast a start is found in a log, with how much memory, and how long `ops --help` takes.

    PYTHONPATH=. .venv/bin/python benchmarks/logs.py [MEGABYTES]

A real start in front of so many megabytes of requests (default: 100).
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = ROOT.parent / "shared" / "facts" / "logs" / "sleep_big.log"
REQUESTS = (
    '(APIServer pid=2198) INFO:     127.0.0.1:48028 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    "(APIServer pid=2198) INFO 11-29 16:36:36 [loggers.py:310] Engine 000: Avg prompt throughput: 8.4 tokens/s,"
    " Avg generation throughput: 34.1 tokens/s, Running: 0 reqs, Waiting: 0 reqs\n"
)
PARSE = ("-m", "ops", "coldstart", "parse")


def ran(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - began


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log, empty = Path(folder) / "big.log", Path(folder) / "small.log"
        with log.open("w") as file:
            file.write(START.read_text())
            # piece by piece: a child's peak begins with what its parent holds
            for _ in range(megabytes):
                file.write(REQUESTS * (10**6 // len(REQUESTS)))
        empty.write_text(START.read_text())
        alone = statistics.median(ran(*PARSE, str(empty)) for _ in range(3))
        whole = statistics.median(ran(*PARSE, str(log)) for _ in range(3))
        size = log.stat().st_size / 10**6
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"parse of {size:.0f} MB: {whole - alone:.2f} s over an empty log's {alone:.2f} s: "
          f"{size / (whole - alone):.0f} MB/s (target 20); peak {peak:.0f} MiB (target 200)")  # fmt: skip
    started = statistics.median(ran("-m", "ops", "--help") for _ in range(5))
    print(f"ops --help: {started:.2f} s (target 0.5)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
