"""Ctrl-C in the middle of a measurement, as the terminal sends it: what was provoked is put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.harness import ROOT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_is_scaled_back(serving, number):
    space = serving.players.namespace
    serving.stage.ends = False
    command = [sys.executable, "-m", "ops", "coldstart", "run", "--server", "gemma", "--situation", "fresh-node"]
    command += ["--yes", "--despite-traffic", "--kubeconfig", serving.players.kubeconfig]
    running = subprocess.Popen(
        command,
        cwd=serving.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stderr is not None
        # it waits for the node to go, which does not
        for line in running.stderr:
            if "waiting for node" in line:
                break
        assert serving.deployment()["spec"]["replicas"] == 0
        time.sleep(0.2)
        running.send_signal(number)
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
        serving.stage.ends = True
    assert (running.returncode, out) == (130, "")
    assert err.splitlines() == [f"put back: replicas of Deployment {space}/gemma: 1", "interrupted"]
    assert serving.deployment()["spec"]["replicas"] == 1
