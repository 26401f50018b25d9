"""Reads chats, keeps the users' turns, drops duplicates, shuffles and writes JSONL shards, with Hugging Face datasets."""

import hashlib
import sys

import datasets

from peer import report

path, output, _threads = sys.argv[1:]
datasets.disable_progress_bars()
rows_per_shard = 500
seen = set()


def prompts(batch):
    kept = {"promptId": [], "id": [], "messages": []}
    for row_id, turns in zip(batch["id"], batch["conversations"]):
        asked = [turn["value"] for turn in turns if turn["from"] == "human"]
        key = hashlib.md5("\x1f".join(asked).encode()).digest()
        if key in seen:
            continue
        seen.add(key)
        kept["promptId"].append(key.hex())
        kept["id"].append(row_id)
        kept["messages"].append([{"role": "user", "content": text} for text in asked])
    return kept


rows = datasets.load_dataset("json", data_files=path, split="train", cache_dir=f"{output}/cache")
unique = rows.map(prompts, batched=True, remove_columns=rows.column_names, load_from_cache_file=False)
shuffled = unique.shuffle(seed=1)
for start in range(0, len(shuffled), rows_per_shard):
    part = shuffled.select(range(start, min(start + rows_per_shard, len(shuffled))))
    part.to_json(f"{output}/{start // rows_per_shard:05}.jsonl")
report(len(shuffled))
