"""What a preview of the dev stack costs beside one of a single resource, best of five, in turns.

Prints seconds, their difference and the peak memory of the Python process. Machines are noisy: compare within one run.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 5
PROGRAMS = {"one resource": ROOT / "benchmarks/one-resource", "dev stack": ROOT}


def peak_mib(pid: int) -> float:
    """Return the process's own peak resident memory so far (VmHWM), 0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def run(project: Path) -> tuple[float, float]:
    """Preview a project; return (seconds, MiB)."""
    command = [sys.executable, "-m", "rehearsal", "preview", "--stack", "dev", "--project", str(project)]
    started, peak = time.monotonic(), 0.0
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        peak = max(peak, peak_mib(process.pid))
        time.sleep(0.02)
    if process.returncode:
        sys.exit((process.stderr.read() if process.stderr else b"").decode())
    return time.monotonic() - started, peak


def main() -> None:
    """Run both programs in turns and print the best of each."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, project in PROGRAMS.items():
            measured[name].append(run(project))
    best = {name: min(seconds for seconds, _ in runs) for name, runs in measured.items()}
    for name, runs in measured.items():
        every = " ".join(f"{seconds:.1f}" for seconds, _ in runs)
        print(f"{name:14} best {best[name]:5.2f} s  (all: {every})  peak {max(peak for _, peak in runs):.0f} MiB")
    one, dev = best["one resource"], best["dev stack"]
    print(f"dev stack - one resource = {dev - one:.2f} s, ratio {dev / one:.2f}")


if __name__ == "__main__":
    main()
