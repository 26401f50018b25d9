// As the hub names the files of a split, `data/train_sft-00000-of-00003.parquet`.
const shardOfSplit = /(?:^|\/)([A-Za-z][\w.]*?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.\w+/

/** The split that a file's name tells, where it does. */
export function splitOfFile(fileName: string): string | undefined {
  return shardOfSplit.exec(fileName)?.[1]
}
