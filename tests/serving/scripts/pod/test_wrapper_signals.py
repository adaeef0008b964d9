"""The wrapper is the parent that an engine needs: signals, exit codes, orphans."""

import signal
import subprocess
import sys
import time

from tests.serving.scripts import program


def test_every_signal_reaches_the_engine_and_its_exit_code_comes_back(pods):
    pod = pods()
    process = pod.start()
    pod.until_ready(process)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    log, _ = process.communicate(timeout=10)
    assert "got SIGUSR1" in log
    assert "signal=2" in log
    assert process.returncode == 0


def test_an_engine_killed_by_a_signal_ends_the_wrapper_with_128_and_its_number(pods):
    process = pods().start(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    process.communicate(timeout=10)
    assert process.returncode == 137


def test_a_command_that_is_not_there_is_one_line_and_leaves_no_mark(pods):
    pod = pods()
    process = pod.start("no-such-engine", "serve")
    log, _ = process.communicate(timeout=10)
    assert (process.returncode, log) == (127, "no-such-engine: No such file or directory\n")
    assert pod.marks == []


def test_a_signal_before_the_engine_is_up_is_not_lost(pods):
    for pause in (0.02, 0.04, 0.06, 0.08, 0.1):
        pod = pods()
        process = pod.start(sys.executable, "-c", "import time; time.sleep(30)")
        time.sleep(pause)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=5)
        assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM)


ADOPT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans become its children; exec keeps it
os.execv(sys.argv[1], sys.argv[1:])
"""
ORPHANS = """
import glob, os, time
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(0.3)
def zombie(stat):
    try: return open(stat).read().rpartition(")")[2].split()[:2] == ["Z", str(os.getppid())]
    except OSError: return False  # it ended meanwhile
print(sum(map(zombie, glob.glob("/proc/[0-9]*/stat"))))
"""


def test_it_reaps_what_the_engine_leaves_behind(tmp_path):
    """In the container it is process 1. Here the kernel is told to give it the orphans, which needs no rights."""
    wrapped = [sys.executable, program("wrapper"), tmp_path, sys.executable, "-c", ORPHANS]
    done = subprocess.run([sys.executable, "-c", ADOPT, *wrapped], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n"
