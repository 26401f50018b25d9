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
    retriesFolder: `${root}/retries/`,
    checkpointsFolder: `${root}/checkpoints/`,
    rejects: (source: string) => `${root}/rejects/${source}.jsonl`,
    contaminated: (source: string) => `${root}/contaminated/${source}.jsonl`,
    prompts: (shard: number) => `${root}/prompts/${shardName(shard)}.jsonl`,
    /** A shard has one object as a rule; `part` counts further ones, from dispatches that found others' there. */
    samples: (shard: number, part = 0, compression: keyof typeof suffixes = 'gzip') =>
      `${root}/samples/${shardName(shard)}${partSuffix(part)}.jsonl${suffixes[compression]}`,
    failures: (shard: number, part = 0) => `${root}/failures/${shardName(shard)}${partSuffix(part)}.jsonl`,
    commit: (shard: number) => `${root}/shards/${shardName(shard)}.json`,
    checkpoints: (shard: number) => `${root}/checkpoints/${shardName(shard)}/`,
    retry: (round: number) => `${root}/retries/${String(round).padStart(4, '0')}.json`,
    live: (engine: string) => `${root}/live/${engine}.json`,
  }
}

const suffixes = { gzip: '.gz', zstd: '.zst' } as const

/** The shard that an object of a run belongs to, by its key; undefined when the key is not one of a shard's. */
export function shardOfKey(run: string, key: string): number | undefined {
  const { root } = runKeys(run)
  if (!key.startsWith(root)) return undefined
  const [, shard] = /^(?:prompts|samples|failures|shards|checkpoints)\/(\d{5,})[./]/.exec(key.slice(root.length)) ?? []
  return shard === undefined ? undefined : Number(shard)
}

/** The run that a key belongs to; undefined for keys of anything else. */
export function runOfKey(key: string): string | undefined {
  return /^runs\/([^/]+)\//.exec(key)?.[1]
}

/** `12` → `00012`: five digits at least, so that names sort as numbers up to 99,999 shards. */
export function shardName(shard: number): string {
  return String(shard).padStart(5, '0')
}

function partSuffix(part: number): string {
  return part === 0 ? '' : `.${part}`
}
