"""Loads the traces that tests left into HolisticTraceAnalysis, and compares its figures with ours.

usage: hta_check.py FOLDER      one trace per rank, `rankN.json`, and `rankN.expect.json` with our figures
"""

import json
import logging
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from hta.trace_analysis import TraceAnalysis  # noqa: E402  (after the warnings are off)


def main(folder):
    expected = {int(path.name[len("rank") : -len(".expect.json")]): json.loads(path.read_text())
                for path in sorted(folder.glob("rank*.expect.json"))}
    if not expected:
        sys.exit(f"{folder}: expected `rank0.expect.json`, found none: run the tests first")
    files = {rank: str((folder / f"rank{rank}.json").resolve()) for rank in expected}
    analysis = TraceAnalysis(trace_files=files, trace_dir="/")
    complaints = [text for rank in expected for text in compare(rank, figures(analysis, rank), expected[rank])]
    print("\n".join(complaints) or f"hta: the figures of {len(expected)} ranks are the same")
    sys.exit(1 if complaints else 0)


def figures(analysis, rank):
    """The figures of HTA, under our names."""
    temporal = of_rank(analysis.get_temporal_breakdown(visualize=False), rank)
    overlap = of_rank(analysis.get_comm_comp_overlap(visualize=False), rank)
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    kernels = kernels[(kernels["rank"] == rank) & (kernels["kernel_type"] == "COMMUNICATION")]
    # Only one stream communicates, so the sum of its kernels is the communication time.
    comm = int(kernels["sum (us)"].sum())
    idle, _ = analysis.get_idle_time_breakdown(ranks=[rank], visualize=False)
    by_stream = idle.groupby("stream")["idle_time"].sum()
    overlap_us = round(overlap["comp_comm_overlap_pctg"] * comm / 100)
    idle_us, span_us = int(temporal["idle_time(us)"]), int(temporal["kernel_time(us)"])
    return {
        "idle_us": idle_us,
        "span_us": span_us,
        "busy_us": span_us - idle_us,
        "compute_us": int(temporal["compute_time(us)"]),
        "idle_by_stream_us": {str(stream): int(time) for stream, time in by_stream.items()},
        "comm_us": comm,
        "overlap_us": overlap_us,
        "exposed_comm_us": comm - overlap_us,
        "steps": len(analysis.get_profiler_steps()),
        "kernels": kernel_count(analysis, rank),
    }


def kernel_count(analysis, rank):
    """Kernels that HTA keeps: it drops those whose launch it does not find."""
    kept = analysis.t.get_trace(rank)
    names = analysis.t.symbol_table.get_sym_table()
    return sum(names[category] == "kernel" for category in kept["cat"])


def of_rank(table, rank):
    return table[table["rank"] == rank].iloc[0]


def compare(rank, found, expected):
    keys = sorted(expected.keys() | found.keys())
    wrong = [key for key in keys if found.get(key) != expected.get(key)]
    return [f"rank {rank}: {key}: HTA finds {found.get(key)}, we find {expected.get(key)}" for key in wrong]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
