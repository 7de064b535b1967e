#!/usr/bin/env bash
# Submits eight tasks, one part each, and a job that judges when all of them are done.
#   ./slurm.sh /scratch/gpu /scratch/npu /scratch/result
set -euo pipefail
baseline=$1 candidate=$2 out=$3

measure=$(sbatch --parsable --array=1-8 --cpus-per-task=4 --mem=512M \
  --wrap "precision-gate compare '$baseline' '$candidate' --shard auto --out '$out/parts'")
sbatch --dependency="afterok:$measure" --cpus-per-task=2 --mem=2G \
  --wrap "precision-gate merge '$out'/parts/part-*.jsonl --out '$out'"
