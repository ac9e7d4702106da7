#!/usr/bin/env python3
"""Cuts the outside data that the tests need out of the full tables.

    cut_outside_data.py AICONFIGURATOR_DIR UCM_DIR MODEL_CONFIG_DIR OUT_DIR

AICONFIGURATOR_DIR holds h200_sxm__{context_attention,gemm}_perf__vllm_0.24.0.csv.zst, UCM_DIR
ttft_full_vs_hit80.csv, MODEL_CONFIG_DIR the model configurations and model_facts.csv. OUT_DIR is
tests/data. Needs the zstd program. The output is the same for the same input.
"""

import csv
import io
import pathlib
import shutil
import subprocess
import sys

# Llama-3.1-8B: the widths of its products, each by the nearest measured one (m is the number of tokens).
GEMM_SHAPES = {(6144, 4096), (4096, 4096), (16384, 4096), (4096, 16384)}
FEWEST_TOKENS = 64


def rows(path):
    text = subprocess.run(["zstd", "-dc", "--long=27", path], check=True, capture_output=True, text=True)
    return csv.DictReader(io.StringIO(text.stdout))


def write(path, head, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(sorted(table))


def cut_attention(source, out):
    table = set()
    for row in rows(source / "h200_sxm__context_attention_perf__vllm_0.24.0.csv.zst"):
        heads = (row["batch_size"], row["num_heads"], row["num_key_value_heads"], row["kv_cache_dtype"])
        if heads == ("1", "32", "8", "bfloat16") and int(row["isl"]) >= FEWEST_TOKENS:
            table.add((int(row["isl"]), float(row["latency"])))
    write(out / "h200_attention.csv", ["tokens", "latency_ms"], table)


def cut_gemm(source, out):
    table = set()
    for row in rows(source / "h200_sxm__gemm_perf__vllm_0.24.0.csv.zst"):
        shape = (int(row["n"]), int(row["k"]))
        tokens = int(row["m"])
        whole = tokens == FEWEST_TOKENS or tokens % 256 == 0
        if row["gemm_dtype"] == "bfloat16" and shape in GEMM_SHAPES and whole:
            table.add((*shape, tokens, float(row["latency"])))
    write(out / "h200_gemm.csv", ["n", "k", "tokens", "latency_ms"], table)


def main():
    aiconfigurator, ucm, configs, out = (pathlib.Path(a) for a in sys.argv[1:5])
    cut_attention(aiconfigurator, out / "aiconfigurator")
    cut_gemm(aiconfigurator, out / "aiconfigurator")
    for folder in ("ucm", "model_configs"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ucm / "ttft_full_vs_hit80.csv", out / "ucm" / "ttft_full_vs_hit80.csv")
    for source in [*sorted(configs.glob("*_config.json")), configs / "model_facts.csv"]:
        shutil.copyfile(source, out / "model_configs" / source.name)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main()
