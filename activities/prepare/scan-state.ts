import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Spec } from '../../domain/spec.ts'
import type { BatchStart } from './batches.ts'
import { batchName, type ScannedBatch } from './scan-batch.ts'
import type { PrepareSizes } from './sizes.ts'
import type { NumberedFile } from './source-list.ts'

/** A file that was given up, with the sentence why. */
export interface GivenUp {
  readonly file: number
  readonly why: string
}

/**
 * What earlier attempts of the same work left in the scratch folder: batches that are scanned need not be scanned again.
 * Each is recorded when its files are complete; the records count only up to the first that is missing.
 */
export class ScanState {
  private constructor(
    readonly folder: string,
    readonly scanned: readonly ScannedBatch[],
    readonly givenUp: readonly GivenUp[],
  ) {}

  /** Opens the folder; what is in it from other input or other sizes is removed. */
  static async open(
    folder: string,
    spec: Spec,
    files: readonly NumberedFile[],
    sizes: PrepareSizes,
    contaminationKey: string | undefined,
  ): Promise<ScanState> {
    const listed = files.map(({ uri, version, source }) => [uri, version, source])
    const key = createHash('sha256')
      .update(JSON.stringify([formatVersion, spec, listed, sizes, contaminationKey]))
      .digest('hex')
    const keyPath = join(folder, 'key')
    if ((await readFile(keyPath, 'utf8').catch(() => '')) !== key) {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true })
      await writeFile(keyPath, key)
      return new ScanState(folder, [], [])
    }
    return new ScanState(folder, await readBatches(folder), await readGivenUp(folder))
  }

  /** Where the next attempt begins to cut. */
  get start(): BatchStart {
    const file = this.scanned.at(-1)?.pieces.at(-1)?.file ?? 0
    const pieces = this.scanned.flatMap((batch) => batch.pieces).filter((piece) => piece.file === file).length
    return { batch: this.scanned.length, file, pieces }
  }

  async recordBatch(scanned: ScannedBatch): Promise<void> {
    await this.#record(`${batchName(scanned.batch)}.done`, scanned)
  }

  async recordGivenUp(givenUp: GivenUp): Promise<void> {
    await this.#record(`file-${givenUp.file}.bad`, givenUp)
  }

  async #record(name: string, value: unknown): Promise<void> {
    const path = join(this.folder, name)
    await writeFile(`${path}.part`, JSON.stringify(value))
    await rename(`${path}.part`, path)
  }
}

/** Changed whenever scratch files of an older release could no longer be read, or would be read as something else. */
const formatVersion = 1

async function readBatches(folder: string): Promise<ScannedBatch[]> {
  const batches: ScannedBatch[] = []
  for (;;) {
    const text = await readFile(join(folder, `${batchName(batches.length)}.done`), 'utf8').catch(() => undefined)
    if (text === undefined) return batches
    batches.push(JSON.parse(text) as ScannedBatch)
  }
}

async function readGivenUp(folder: string): Promise<GivenUp[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.bad')).sort()
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as GivenUp))
}
