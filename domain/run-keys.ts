/**
 * Where the objects of a run lie, relative to the store. No key is another key's folder, so the names are safe on S3 and
 * on file systems alike.
 */
export function runKeys(run: string) {
  const root = `runs/${run}`
  return {
    root: `${root}/`,
    spec: `${root}/spec.json`,
    plan: `${root}/plan.json`,
    manifest: `${root}/manifest.json`,
    progress: `${root}/progress.json`,
    report: `${root}/report.html`,
    promptsFolder: `${root}/prompts/`,
    shardsFolder: `${root}/shards/`,
    samplesFolder: `${root}/samples/`,
    failuresFolder: `${root}/failures/`,
    liveFolder: `${root}/live/`,
    checkpointsFolder: `${root}/checkpoints/`,
    rejects: (source: string) => `${root}/rejects/${source}.jsonl`,
    prompts: (shard: number) => `${root}/prompts/${shardName(shard)}.jsonl`,
    /** `part` is empty for the first writer of a shard and tells later ones apart. */
    samples: (shard: number, part = '') => `${root}/samples/${shardName(shard)}${part}.jsonl.gz`,
    failures: (shard: number, part = '') => `${root}/failures/${shardName(shard)}${part}.jsonl`,
    commit: (shard: number) => `${root}/shards/${shardName(shard)}.json`,
    checkpoints: (shard: number) => `${root}/checkpoints/${shardName(shard)}/`,
    live: (engine: string) => `${root}/live/${engine}.json`,
  }
}

/** `12` → `00012`: five digits at least, so that names sort as numbers up to 99,999 shards. */
export function shardName(shard: number): string {
  return String(shard).padStart(5, '0')
}
