"""Makes a pair of evaluations (layout of lm-evaluation-harness) of as many right and wrong answers as wanted.

    python3 benches/large_evaluation.py FOLDER SAMPLES
    /usr/bin/time -v precision-gate run FOLDER/gpu FOLDER/npu --out FOLDER/out --quiet

The candidate answers two questions in a hundred otherwise.
"""

import hashlib
import json
import pathlib
import random
import sys

TASK, TIME = "sums", "2026-11-22T12-29-39.821141"


def sample(index, right):
    answer = str(index + 1 if right else index + 2)
    line = {"doc_id": index, "doc": {"question": f"{index}+1", "answer": str(index + 1)}, "target": str(index + 1)}
    line["arguments"] = {"gen_args_0": {"arg_0": f"Q: {index}+1\nA:", "arg_1": {"until": ["\n"], "do_sample": False}}}
    line |= {"resps": [[answer]], "filtered_resps": [answer], "filter": "none", "metrics": ["exact_match"]}
    for name in ("doc_hash", "prompt_hash", "target_hash"):
        line[name] = hashlib.sha256(f"{name}{index}".encode()).hexdigest()
    return line | {"exact_match": float(right)}


def make(folder, count):
    for side, seed in (("gpu", 0), ("npu", 1)):
        home = pathlib.Path(folder, side, "model")
        home.mkdir(parents=True, exist_ok=True)
        truth, noise, right = random.Random(7), random.Random(seed), 0
        with open(home / f"samples_{TASK}_{TIME}.jsonl", "w") as file:
            for index in range(count):
                is_right = truth.random() < 0.7
                if side == "npu" and noise.random() < 0.02:
                    is_right = not is_right
                right += is_right
                file.write(json.dumps(sample(index, is_right)) + "\n")
        results = {"results": {TASK: {"alias": TASK, "exact_match,none": right / count, "exact_match_stderr,none": "N/A"}}}
        results |= {"group_subtasks": {}, "configs": {TASK: {"output_type": "generate_until", "num_fewshot": 0}}}
        results |= {"versions": {TASK: 1.0}, "n-shot": {TASK: 0}, "higher_is_better": {TASK: {"exact_match": True}}}
        results |= {"n-samples": {TASK: {"original": count, "effective": count}}, "config": {"model": "hf"}}
        (home / f"results_{TIME}.json").write_text(json.dumps(results))


make(sys.argv[1], int(sys.argv[2]))
