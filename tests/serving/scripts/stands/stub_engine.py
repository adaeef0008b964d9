"""Stands in for `vllm serve` 0.26: real cache layout, real log lines (facts of a real GPU), real ways to die.

    python stub_engine.py MODEL [--port N] [any other flag: part of the key]

Dies on a recorded path that is not there, on a truncated compiled model, and by SIGSEGV on a bad FlashInfer library.
`STUB_*` variables choose what else goes wrong; they are not part of the key.
"""

import hashlib
import http.server
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

STUB = __file__
"""What is run in the place of `vllm`."""

ENV = os.environ
HOME = Path(ENV.get("HOME", "/"))
CACHE = Path(ENV.get("VLLM_CACHE_ROOT") or HOME / ".cache/vllm")
FLASHINFER = Path(ENV.get("FLASHINFER_WORKSPACE_BASE") or HOME)
TRITON = Path(ENV.get("TRITON_CACHE_DIR") or HOME / ".triton/cache")
NEUTRAL = ("VLLM_CACHE_ROOT", "VLLM_ENABLE_STARTUP_PLAN", "VLLM_FORCE_AOT_LOAD", "VLLM_DISABLE_COMPILE_CACHE")
GOOD, END = b"\x80\x04GOOD", b"END."


class DiedError(Exception):
    """The traceback's last line."""


def log(text: str, level: str = "INFO", process: str = "EngineCore") -> None:
    said = f"({process} pid={os.getpid()}) {level} {time.strftime('%m-%d %H:%M:%S')} {text}\n"
    # a signal handler logs too, and must not enter a buffer in which it has interrupted somebody
    os.write(1, said.encode())


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def once(path: Path, content: bytes) -> None:
    if not path.exists():
        write(path, content)


def factors() -> dict[str, str]:
    found = {name: value for name, value in ENV.items() if name.startswith("VLLM_") and name not in NEUTRAL}
    found["HOME"], found["arguments"] = (
        ENV["HOME"],
        json.dumps([a for a in sys.argv[1:] if a != "--port" and not a.isdecimal()]),
    )
    if "STUB_KEY_MOVES" in ENV:
        found["moves"] = str(time.time_ns())
    return found


def model_info() -> None:
    info = CACHE / "modelinfos/vllm-model_executor-models-qwen3-Qwen3ForCausalLM.json"
    if info.exists():
        json.loads(info.read_bytes())
    else:
        write(info, json.dumps({"hash": "0" * 64, "modelinfo": {"architecture": "Qwen3ForCausalLM"}}).encode())
    log("[model.py:623] Resolved architecture: Qwen3ForCausalLM", process="APIServer")


def compiled() -> None:
    if "--enforce-eager" in sys.argv:
        return
    started = time.monotonic()
    key = hashlib.sha256(json.dumps(factors(), sort_keys=True).encode()).hexdigest()
    cached = ENV.get("VLLM_DISABLE_COMPILE_CACHE", "0") != "1"
    directory = CACHE / "torch_compile_cache" / key[:10] / "rank_0_0/backbone"
    model = CACHE / "torch_compile_cache/torch_aot_compile" / key / "rank_0_0/model"
    log(f"[backends.py:1094] Using cache directory: {directory} for vLLM's torch.compile")
    log("[backends.py:1155] Dynamo bytecode transform time: 3.68 s")
    index = directory / "vllm_compile_cache.py"
    graphs, aot = cached and index.exists(), cached and model.exists()
    if graphs:
        for name, path in eval(index.read_text()).values():  # noqa: S307 - vLLM's format is a Python literal
            if not Path(path).exists():
                raise DiedError(f"FileNotFoundError: [Errno 2] No such file or directory: '{path}' ({name})")
        span = "from the cache, took 1.551 s"
        log(f"[backends.py:292] Directly load the compiled graph(s) for compile range (1, 8192) {span}")
    if aot and not model.read_bytes().endswith(END):
        reason = f"{model}, reason: pickle data was truncated"
        log(f"[decorators.py:322] Compiling model again due to a load failure from {reason}", "WARNING")
        raise DiedError("_pickle.UnpicklingError: pickle data was truncated")
    if aot:
        log(f"[decorators.py:311] Directly load AOT compilation from path {model}")
    elif ENV.get("VLLM_FORCE_AOT_LOAD") == "1":
        raise DiedError(f"FileNotFoundError: [Errno 2] No such file or directory: '{model}'")
    if not graphs:
        log("[backends.py:378] Cache the graph of compile range (1, 8192) for later use")
        if cached:
            artifact = write(directory / "artifact_compile_range_1_8192_subgraph_0", GOOD + key.encode() * 2000 + END)
            write(directory / "computation_graph.py", b"# graph\n" * 500)
            write(directory / "cache_key_factors.json", json.dumps({"env": factors()}, indent=1).encode())
            entry = {("Range(1, 8192)", 0, "inductor_standalone"): (artifact.name, str(artifact))}
            write(index, repr(entry).encode())
        log("[backends.py:393] Compiling a graph for compile range (1, 8192) takes 18.09 s")
    if not aot and cached:
        write(model.parent.parent / "inductor_cache/ab/cabc.py", b"# kernel\n" * 300)
        write(model, GOOD + key.encode() * 1000 + END)
        log(f"[decorators.py:708] saved AOT compiled function to {model}")
    log(f"[monitor.py:53] torch.compile took {time.monotonic() - started:.2f} s in total")


def kernels() -> None:
    built = FLASHINFER / ".cache/flashinfer/0.6.14/90a/cached_ops/sampling"
    source, library = built / "sampling.cu", built / "sampling.so"
    # ninja's rule: what is older than its source is made again
    if not library.exists() or library.stat().st_mtime_ns < source.stat().st_mtime_ns:
        write(source, b"// kernel\n" * 100)
        write(library, b"\x7fELF" + b"so" * 4000)
        with (built / "built").open("a") as file:
            file.write("1\n")
    if not library.read_bytes().startswith(b"\x7fELF"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if (content := ENV.get("STUB_CONTENT")) and not (synthetic := CACHE / "torch_compile_cache/synthetic").exists():
        shutil.copytree(content, synthetic)
    for number in range(int(ENV.get("STUB_TRITON_FILES", "40"))):
        once(TRITON / f"{number:04x}" / "kernel.cubin", bytes([number % 251]) * (500 + 37 * number))
    once(HOME / ".humming/launcher.so", b"\x7fELF humming")
    write(HOME / ".cache/vllm/assets/model_streamer/7cc3053d/tokenizer.json", b"{}")
    if prefix := ENV.get("PYTHONPYCACHEPREFIX"):
        once(Path(prefix) / "usr/lib/vllm/x.cpython-312.pyc", b"\xcb\r\r\n" + b"pyc" * 100)
    if ENV.get("VLLM_ENABLE_STARTUP_PLAN") == "1":
        write(CACHE / "startup_plan/startup_plan_1f94917cb446d839.json", b'{"kv_cache_memory_bytes": 1}')
    if secret := ENV.get("STUB_SECRET"):
        write(CACHE / "deep_gemm/notes.txt", f"x={secret}".encode())
    log("[jit_monitor.py:79] Kernel JIT monitor activated; monitored JIT compilations will use mode=warn.")


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main() -> int:
    port = int(sys.argv[sys.argv.index("--port") + 1]) if "--port" in sys.argv else 8000
    stop = threading.Event()

    def order(number: int, _frame: object) -> None:
        log(f"[launcher.py:100] [shutdown] API server: shutdown triggered signal={number}", process="APIServer")
        if stop.is_set() or not serving.is_set():
            raise KeyboardInterrupt("terminated")
        stop.set()

    serving = threading.Event()
    signal.signal(signal.SIGTERM, order)
    signal.signal(signal.SIGINT, order)
    signal.signal(signal.SIGUSR1, lambda *_: log("got SIGUSR1"))
    log("[api_utils.py:345]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0", process="APIServer")
    log("[core.py:116] Initializing a V1 LLM engine (v0.26.0) with config: model='x'")
    time.sleep(float(ENV.get("STUB_SECONDS", "0")))
    try:
        if "STUB_REFUSES" in ENV:
            raise DiedError("torch.OutOfMemoryError: CUDA out of memory.")
        model_info()
        compiled()
        kernels()
        time.sleep(float(ENV.get("STUB_HANGS", "0")))
    except DiedError as error:
        log("[core.py:1330] EngineCore failed to start.", "ERROR")
        sys.stderr.write(f"{error}\nRuntimeError: Engine core initialization failed. See root cause above.\n")
        return 1
    log("[core.py:340] init engine (profile, create kv cache, warmup model) took 15.06 s (compilation: 6.10 s)")
    serving.set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Health)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    os.write(1, f"(APIServer pid={os.getpid()}) INFO:     Application startup complete.\n".encode())
    if "STUB_FAILS_AFTER" in ENV:
        stop.wait(float(ENV["STUB_FAILS_AFTER"]))
        return 9
    stop.wait()
    server.shutdown()
    time.sleep(float(ENV.get("STUB_STOP_SECONDS", "0")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
