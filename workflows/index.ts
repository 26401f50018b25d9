/** Every workflow type that the control worker offers; the name of the export is the workflow type. */
export { backupAndMerge } from './back-up-and-merge.ts'
export { expandDataset } from './expand-dataset.ts'
export { generate } from './generate.ts'
export { generateShard } from './generate-shard.ts'
export { retryFailures } from './retry-failures.ts'
export { tokenizeAndMerge } from './tokenize-and-merge.ts'
