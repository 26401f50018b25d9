import type { Spec } from '../../domain/spec.ts'
import { BadFile } from '../../formats/bad-file.ts'
import { mapInOrder } from '../../shuffle/map-in-order.ts'
import { batches } from './batches.ts'
import { counted, unseenBytes } from './prepare-progress.ts'
import type { PrepareIo } from './prepare-run.ts'
import type { PieceCounts, ScannedBatch } from './scan-batch.ts'
import { ScanState } from './scan-state.ts'
import type { NumberedFile } from './source-list.ts'

export interface ScannedSources {
  readonly batches: readonly ScannedBatch[]
  /** Why files were left out as a whole, by their number. */
  readonly givenUp: ReadonlyMap<number, string>
}

/** Turns all rows of all files into spilled prompts, rejects and counts; goes on where an earlier attempt ended. */
export async function scanSources(spec: Spec, files: readonly NumberedFile[], io: PrepareIo): Promise<ScannedSources> {
  const state = await ScanState.open(io.folder, spec, files, io.sizes, io.contaminationKey)
  const givenUp = new Map(state.givenUp.map(({ file, why }) => [file, why]))
  const scanned: ScannedBatch[] = [...state.scanned]
  const giveUp = async (file: NumberedFile, error: BadFile) => {
    const policy = spec.sources[file.source]?.onBadFile ?? spec.onBadFile
    if (policy === 'fail') throw error
    givenUp.set(file.number, error.message)
    await state.recordGivenUp({ file: file.number, why: error.message })
  }
  const giveUpDamaged = async ({ file: number, bad }: PieceCounts) => {
    const file = files[number]
    if (bad && file && !givenUp.has(number)) await giveUp(file, new BadFile(bad.reason, bad.found, file.uri))
  }

  io.meter.begin(
    'reading',
    files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
  )
  const watched = counted(files, (bytes) => io.meter.advance(bytes))
  const all = batches(watched, { spec, sizes: io.sizes, start: state.start, onBadFile: giveUp })
  const results = mapInOrder(all, io.threads + 1, async (batch) => {
    const result = await io.tasks.scan(batch)
    const rows = result.pieces.reduce((sum, piece) => sum + piece.read, 0)
    io.meter.advance(unseenBytes(batch), rows)
    return result
  })
  for await (const result of results) {
    io.signal.throwIfAborted()
    for (const piece of result.pieces) await giveUpDamaged(piece)
    await state.recordBatch(result)
    scanned.push(result)
  }
  return { batches: scanned, givenUp }
}
