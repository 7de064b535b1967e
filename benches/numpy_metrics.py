#!/usr/bin/env python3
"""The metrics of one tensor pair, as NumPy expressions: what a tool of one expression per metric costs.

    numpy_metrics.py BASELINE.npy CANDIDATE.npy

Prints GB/s of stored bytes of both files, best of three; the files are read once before.
"""
import sys
import time

import numpy as np


def metrics(n, b):
    eps = np.finfo(b.dtype).eps
    shift = np.where(b == 0, eps, 0).astype(b.dtype)
    relative = np.abs((n + shift - (b + shift)) / (b + shift))
    n, b = n.astype(np.float64), b.astype(np.float64)
    difference = n - b
    return {
        "cosine": n.dot(b) / (np.linalg.norm(n) * np.linalg.norm(b)),
        "euclidean": np.linalg.norm(difference),
        "max_abs": np.abs(difference).max(),
        "max_relative": relative.max(),
        "thousandth": (relative < 1e-3).mean(),
        "five_thousandths": (relative < 5e-3).mean(),
        "unequal": np.count_nonzero(difference),
        "non_finite": np.count_nonzero(~np.isfinite(n)) + np.count_nonzero(~np.isfinite(b)),
    }


def main():
    b, n = (np.load(path).ravel() for path in sys.argv[1:3])
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = metrics(n, b)
        times.append(time.perf_counter() - start)
    for name, value in found.items():
        print(f"{name:18} {value:.12g}")
    print(f"{(n.nbytes + b.nbytes) / min(times) / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
