import { mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ModelIdentity } from '../../../domain/tokenized.ts'
import { sha256Hex } from '../../../shuffle/digest.ts'
import { publish } from '../../../store/publish.ts'
import { readBytes } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import type { ModelFiles } from '../model/model-files.ts'
import { idLimitOf } from '../model/token-model.ts'
import type { TokenizerJson } from '../model/tokenizer-json.ts'
import { modelKeyOf } from './plan-file.ts'

/**
 * Puts a model's files into the store, so that workers on other machines have the very same ones. Gives what tells its
 * tokenizer and template from others.
 */
export async function storeModel(store: ObjectStore, files: ModelFiles): Promise<ModelIdentity> {
  const { tokenizer, template, toolTemplate, specialTokens } = files
  const idLimit = idLimitOf(JSON.parse(tokenizer) as TokenizerJson)
  const text = JSON.stringify(files)
  const filesKey = modelKeyOf(sha256Hex(text))
  await publish(store, filesKey, text)
  return {
    tokenizerHash: sha256Hex(tokenizer),
    ...(template !== undefined && {
      templateHash: sha256Hex(JSON.stringify([template, toolTemplate ?? null, specialTokens])),
    }),
    ...{ idLimit, filesKey },
  }
}

/** Brings a model's files to where threads of this machine can read them. Gives the path. */
export async function localModel(store: ObjectStore, key: string, scratch: string): Promise<string> {
  const path = join(scratch, key)
  if (await stat(path).catch(() => undefined)) return path
  const bytes = await readBytes(store, key)
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}.${performance.now()}`
  await writeFile(draft, bytes)
  await rename(draft, path)
  return path
}
