"""How fast a pair in an S3 server is compared, against a plain parallel download of the same objects in the same run.

    python3 tests/locations/peers/speed.py PAIR target/release/precision-gate [ROUNDS]

PAIR holds two tensor dumps, gpu and npu; those of docs/performance.md have 64 tensors of 32 MiB a side, float32.

Starts moto, uploads PAIR/gpu and PAIR/npu, then takes turns: all objects by eight connections, bodies discarded, and the
gate with `--max-disk 100MB --max-memory 256MB`. Prints both rates, their ratio, the gate's peak memory, and the bytes it
left on disk.
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import s3_bucket

PAIR, GATE, ROUNDS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), int((sys.argv[3:] or ["3"])[0])
CONNECTIONS = 8


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def compare(endpoint, folder):
    environment = {"AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "secret", "HOME": folder}
    sides = [f"s3://golden/{side}?endpoint={endpoint}" for side in ("gpu", "npu")]
    command = [GATE, "compare", *sides, "--max-disk", "100MB", "--max-memory", "256MB", "--out", f"{folder}/out", "-q"]
    start = time.monotonic()
    child = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    return time.monotonic() - start, os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024


def stored(folder):
    paths = (path for path in pathlib.Path(folder).rglob("*") if path.is_file() and "out" not in path.parts)
    return sum(path.stat().st_size for path in paths)


def main():
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    moto = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(5)
        for side in ("gpu", "npu"):
            s3_bucket.put(endpoint, "golden", PAIR / side, side)
        for _ in range(ROUNDS):
            seconds, total = s3_bucket.download(endpoint, "golden", CONNECTIONS)
            with tempfile.TemporaryDirectory() as folder:
                taken, code, memory = compare(endpoint, folder)
                left = stored(folder)
            print(f"download {total / seconds / 1e6:.0f} MB/s, compare {total / taken / 1e6:.0f} MB/s, "
                  f"ratio {seconds / taken:.2f}, exit {code}, peak {memory:.0f} MiB, stored {left} bytes", flush=True)
    finally:
        moto.terminate()


if __name__ == "__main__":
    main()
