"""Times Halcyon's replay beside libCacheSim, both in one run on one machine, and prints Markdown.

    make bench                    # 10 M Zipf requests, 1 M objects, capacity 10 %
    .build/venv/bin/python Experiments/Benchmarks/bench.py --replay .build/release/replay --requests 1000000

Every figure is the median of several runs, Halcyon's and the peer's taken in turn, so that a machine that
drifts drifts for both. Replay alone is timed inside each program; whole commands are timed from outside.
"""

import argparse
import concurrent.futures
import csv
import io
import os
import platform
import statistics
import subprocess
import tempfile
import time

import libcachesim

ALONE = [
    # Halcyon's name, libCacheSim's class, the floor in million requests a second.
    ("lru", "LRU", 60),
    ("sieve", "Sieve", 80),
    ("s3-fifo", "S3FIFO", 40),
    ("arc", "ARC", 30),
    ("w-tinylfu", "WTinyLFU", 15),
    ("gdsf", "GDSF", 8),
    ("belady", "Belady", 10),
    ("learned", "ThreeLCache", 2),
]

SWEEP = [
    ("fifo", "FIFO"), ("lru", "LRU"), ("lfu", "LFU"), ("clock", "Clock"), ("slru", "SLRU"),
    ("2q", "TwoQ"), ("arc", "ARC"), ("s3-fifo", "S3FIFO"), ("sieve", "Sieve"), ("gdsf", "GDSF"),
]
SHARES = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4]


def halcyon(command, trace, policies, capacities, *more):
    """The rows of one command, and its wall time."""
    arguments = [command, trace, "--only", "--capacity", capacities, "--format", "csv", *more]
    for policy in policies:
        arguments += ["--policy", policy]
    began = time.perf_counter()
    output = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(output))), time.perf_counter() - began


def reader(trace, kind):
    parameters = libcachesim.ReaderInitParam(ignore_obj_size=True)
    if kind == "csv":
        parameters.has_header = True
        parameters.has_header_set = True
        parameters.delimiter = ","
        parameters.time_field = 1
        parameters.obj_id_field = 2
        parameters.obj_size_field = 3
        parameters.obj_id_is_num = True
        parameters.obj_id_is_num_set = True
        return libcachesim.TraceReader(trace, libcachesim.TraceType.CSV_TRACE, parameters)
    return libcachesim.TraceReader(trace, libcachesim.TraceType.ORACLE_GENERAL_TRACE, parameters)


def peer(trace, kind, name, capacity):
    """Miss ratio and seconds of one run of the peer, its reading included as it cannot be taken apart."""
    began = time.perf_counter()
    cache = getattr(libcachesim, name)(capacity)
    misses, _ = cache.process_trace(reader(trace, kind))
    return misses, time.perf_counter() - began


def peer_job(job):
    return peer(*job)


def median(values):
    return statistics.median(values)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--replay", default=".build/release/replay")
    arguments.add_argument("--requests", type=int, default=10_000_000)
    arguments.add_argument("--objects", type=int, default=1_000_000)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--sweep-requests", type=int, default=2_000_000)
    options = arguments.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "zipf.oracleGeneral")
        text = os.path.join(folder, "zipf.csv")
        small = os.path.join(folder, "small.oracleGeneral")
        for path, requests in [(binary, options.requests), (text, options.requests), (small, options.sweep_requests)]:
            subprocess.run(
                [options.replay, "generate", "zipf", "--seed", "1", "--set", f"requests={requests}",
                 "--set", f"objects={options.objects}", "--output", path], check=True)
        rows, _ = halcyon(options.replay, binary, ["lru"], "10%", "--sizes", "unit")
        capacity = int(rows[0]["capacity"])

        print(f"Measured {time.strftime('%Y-%m-%d')} on {processor()}, {os.cpu_count()} cores, {platform.system()} "
              f"{platform.release()}; libCacheSim {libcachesim.__version__}; {options.requests:,} Zipf requests, "
              f"{options.objects:,} objects drawn from, capacity {capacity:,} objects (10 %); medians of {options.runs}.\n")
        print("| replay alone, one thread | beside | Halcyon, M req/s | libCacheSim, M req/s | ratio | floor "
              "| miss ratio, both |")
        print("|---|---|--:|--:|--:|--:|---|")
        for name, theirs, floor in ALONE:
            ours, others = [], []
            for _ in range(options.runs):
                rows, _ = halcyon(options.replay, binary, [name], "10%", "--sizes", "unit", "--threads", "1")
                ours.append(float(rows[0]["requests_per_second"]) / 1e6)
                misses, seconds = peer(binary, "binary", theirs, capacity)
                others.append(options.requests / seconds / 1e6)
            miss = 1 - float(rows[0]["object_hit_ratio"])
            print(f"| {name} | {theirs} | {median(ours):.1f} | {median(others):.1f} | {median(ours) / median(others):.1f} × "
                  f"| {floor} | {miss:.4f}, {misses:.4f} |", flush=True)

        print("\n| from file to result | Halcyon, s | libCacheSim, s | ratio | floor |")
        print("|---|--:|--:|--:|--:|")
        for title, trace, kind, floor in [("CSV, one lru run", text, "csv", 4),
                                          ("oracleGeneral, one lru run", binary, "binary", 2)]:
            ours, others = [], []
            for _ in range(options.runs):
                ours.append(halcyon(options.replay, trace, ["lru"], "10%", "--sizes", "unit")[1])
                others.append(peer(trace, kind, "LRU", capacity)[1])
            print(f"| {title} | {median(ours):.2f} | {median(others):.2f} | {median(others) / median(ours):.1f} × "
                  f"| {floor} × |", flush=True)

        capacities = ",".join(f"{share * 100:g}%" for share in SHARES)
        rows, ours = halcyon(options.replay, small, [name for name, _ in SWEEP], capacities, "--sizes", "unit")
        sizes = [int(row["capacity"]) for row in rows[:len(SHARES)]]
        began = time.perf_counter()
        # It raises if a worker dies, as libCacheSim's S3-FIFO ends its process below ten objects. A Pool would wait for ever.
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(peer_job, [(small, "binary", theirs, size) for _, theirs in SWEEP for size in sizes]))
        others = time.perf_counter() - began
        print(f"| sweep, {len(SWEEP)} policies × {len(SHARES)} capacities, {options.sweep_requests:,} requests, all cores "
              f"| {ours:.2f} | {others:.2f} | {others / ours:.1f} × | 6 × |")


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
