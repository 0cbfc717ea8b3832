"""Measures how the CPU time and the memory of each command grow when its input doubles.

Usage: growth.py COMMAND SHAPES FOLDER [FILTER]

COMMAND is the program `ferrum-trace`, SHAPES the program of crates/testkit that writes traces, FOLDER is for temporary
files. FILTER, a regular expression, selects cases by their name, `shape / command`.

A case begins with a small trace, which doubles until the command takes FLOOR_SECONDS or the trace has BYTES_MAX. It
fails if one doubling at or above the floor costs more than RATIO_MAX times the CPU time.
"""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

FIRST_N = 8_000
BYTES_MAX = 48 << 20
FLOOR_SECONDS = 0.4
RATIO_MAX = 3.0
# A command that takes this long has failed.
LIMIT_SECONDS = 120

# `IN` and `OUT` stand for the input and the output file. A second input is the same file again.
COMMANDS = {
    "summary": "summary IN --json",
    "summary by all": "summary IN --json --by name,cat,track,process",
    "summary within": "summary IN --json --within f*",
    "layers": "layers IN --json",
    "steps": "steps IN --json",
    "path": "path IN --json",
    "requests": "requests IN --json",
    "requests explain": "requests IN --json --explain slowest",
    "check": "check IN --json",
    "repair": "repair IN -o OUT.json",
    "to chrome": "convert IN --to chrome -o OUT.json",
    "to perfetto": "convert IN --to perfetto -o OUT.pftrace",
    "to speedscope": "convert IN --to speedscope -o OUT.speedscope.json",
    "to folded": "convert IN --to folded -o OUT.folded",
    "to svg": "convert IN --to svg -o OUT.svg",
    "to csv": "convert IN --to csv -o OUT.csv",
    "to torch": "convert IN --to torch -o OUT.torch.json",
    "to vllm-layerwise": "convert IN --to vllm-layerwise -o OUT.layerwise.json",
    "merge": "merge IN IN2 --json -o OUT.json",
    "merge to perfetto": "merge IN IN2 --json -o OUT.pftrace",
    "perfetto, summary": "summary PFTRACE --json",
    "perfetto, to chrome": "convert PFTRACE --to chrome -o OUT.json",
}


def run(words):
    """Runs a command. Returns its CPU seconds, its peak memory in bytes, and true if it ended in time."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, child.returncode >= 0


class Traces:
    """Traces of one shape, each size written once."""

    def __init__(self, command, shapes, folder, shape):
        self.command, self.shapes, self.folder, self.shape = command, shapes, folder, shape
        self.sizes = set()
        # A run that was interrupted leaves files behind.
        self.clear()

    def path(self, n, ending="json"):
        path = self.folder / f"{self.shape}.{n}.{ending}"
        if n not in self.sizes:
            json = self.folder / f"{self.shape}.{n}.json"
            subprocess.run([self.shapes, self.shape, str(n), str(json)], check=True)
            (self.folder / f"{self.shape}.{n}.2.json").hardlink_to(json)
            self.sizes.add(n)
        if ending == "pftrace" and not path.exists():
            run([self.command, "convert", str(self.path(n)), "-o", str(path)])
        return path

    def clear(self):
        for path in self.folder.glob(f"{self.shape}.*"):
            path.unlink()


def words_of(command, line, traces, n):
    words = [command]
    for word in line.split():
        if word == "IN":
            word = traces.path(n)
        elif word == "IN2":
            traces.path(n)
            word = traces.folder / f"{traces.shape}.{n}.2.json"
        elif word == "PFTRACE":
            word = traces.path(n, "pftrace")
        elif word.startswith("OUT"):
            word = word.replace("OUT", str(traces.folder / "out"))
        words.append(str(word))
    return words + (["--force"] if "OUT" in line else [])


def measure(command, line, traces):
    """Doubles the trace until the command takes long enough. Returns one row per size, and true if growth is near linear."""
    rows, n = [], FIRST_N
    while True:
        n_bytes = traces.path(n).stat().st_size
        seconds, memory, is_done = run(words_of(command, line, traces, n))
        rows.append((n_bytes, seconds, memory))
        if not is_done:
            return rows, False
        if len(rows) >= 2 and rows[-2][1] >= FLOOR_SECONDS:
            if seconds <= RATIO_MAX * rows[-2][1]:
                return rows, True
            # Repeat the measurement, in case other processes disturbed it.
            again = run(words_of(command, line, traces, n))[0]
            rows[-1] = (n_bytes, min(seconds, again), memory)
            return rows, again <= RATIO_MAX * rows[-2][1]
        if 2 * n_bytes > BYTES_MAX:
            return rows, True
        n *= 2


def main():
    command, shapes, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    chosen = re.compile(sys.argv[4] if len(sys.argv) > 4 else "")
    folder.mkdir(parents=True, exist_ok=True)
    names = subprocess.run([shapes], check=True, capture_output=True, text=True).stdout.split()
    failed = []
    print("| shape | command | input MB | CPU s | ratio | peak MB |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    for shape in names:
        traces = Traces(command, shapes, folder, shape)
        for name, line in COMMANDS.items():
            if not chosen.search(f"{shape} / {name}"):
                continue
            rows, is_linear = measure(command, line, traces)
            rows = rows[-3:]
            cells = [" / ".join(f"{row[0] / 1e6:.1f}" for row in rows), " / ".join(f"{row[1]:.2f}" for row in rows)]
            ratios = (f"{later[1] / max(earlier[1], 0.01):.1f}" for earlier, later in zip(rows, rows[1:]))
            cells += [" / ".join(ratios), " / ".join(f"{row[2] / 1e6:.0f}" for row in rows)]
            print(f"| {shape} | {name} | {' | '.join(cells)} |{'' if is_linear else ' FAILED'}", flush=True)
            if not is_linear:
                failed.append(f"{shape} / {name}")
        traces.clear()
    if failed:
        sys.exit("growth is worse than linear: " + ", ".join(failed))


main()
