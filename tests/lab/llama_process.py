"""The real llama.cpp HTTP server in a process of its own: `llama_process.py MODEL SLOTS CONTEXT`.

Prints `READY url`, and ends when its standard input does: it never outlives the test run.
"""

from __future__ import annotations

import os
import socket
import sys

import xllamacpp

_LONGEST_ANSWER = 512


def main(model: str, slots: int, context: int) -> None:
    """Serve until standard input ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"lab"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context
    params.n_predict = _LONGEST_ANSWER
    # One thread: on a busy machine two are five to ten times slower.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = 0
    params.offline = True
    params.endpoint_metrics = True
    params.endpoint_slots = True
    server = xllamacpp.Server(params)
    print(f"READY {server.listening_address}", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
