"""A headless Chromium, driven by its own protocol (DevTools): what a page shows, and what it asks for."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import websocket

PROGRAM = "chromium"
PATIENCE = 20
"""Seconds."""


class Browser:
    """One page."""

    def __init__(self, url: str) -> None:
        # an Origin would have to be allowed
        self._socket = websocket.create_connection(url, timeout=PATIENCE, suppress_origin=True)
        self._number = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def open(self, file: Path, width: int = 1280, **media: str) -> None:
        """Show a file at a width; `media="print"`, `scheme="dark"`."""
        self.events.clear()
        features = [{"name": "prefers-color-scheme", "value": media.get("scheme", "light")}]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media.get("media", "screen"), features=features)
        self.call("Page.navigate", url=file.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while self.value("document.readyState + ' ' + location.href") != f"complete {file.resolve().as_uri()}":
            assert time.monotonic() < end, "the page does not come"

    def value(self, script: str) -> Any:
        """What a script makes of the page, which may have none of its own."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def asked(self) -> list[str]:
        """URLs that the page asked for, without its own."""
        sent = [it["params"]["request"]["url"] for it in self.events if it["method"] == "Network.requestWillBeSent"]
        return [url for url in sent[1:] if not url.startswith("data:")]

    def complaints(self) -> list[Any]:
        """What the browser says is wrong: exceptions of scripts, and everything that it logs."""
        wrong = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [it["params"] for it in self.events if it["method"] in wrong]

    def close(self) -> None:
        self._socket.close()


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own below a folder."""
    if not shutil.which(PROGRAM):
        pytest.fail(f"{PROGRAM} is not on PATH: apt-get install chromium (.ci/run does)", pytrace=False)
    # as root in a container it has no sandbox, and no shared memory of its own
    flags = ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run")
    command = [PROGRAM, *flags, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            page = Browser(_address(folder / "DevToolsActivePort", process))
            yield page
            page.close()
        finally:
            process.terminate()


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    """Where its page is spoken to: it writes its port when it listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if file.exists() and (lines := file.read_text().splitlines()):
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as answer:
                pages = [it for it in json.load(answer) if it["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError(f"{PROGRAM} did not start:\n{(file.parent / 'log').read_text()}")
