import { readFile } from 'node:fs/promises'
import type { Piece } from '../../../formats/pieces.ts'
import type { ModelFiles } from '../model/model-files.ts'
import { readModel } from '../model/read-model.ts'
import type { ReadModel } from '../rows/tokenize-conversation.ts'
import { RowPacker } from './packed-rows.ts'
import { type PieceContext, type TokenizedPiece, tokenizePiece } from './tokenize-piece.ts'

/** Where a thread finds the model: a local file with its `ModelFiles`, which never changes. */
export interface ModelPlace {
  readonly path: string
  readonly today?: string
}

export interface TokenizeInput {
  readonly piece: Piece
  readonly context: PieceContext
  readonly model: ModelPlace
}

export interface TokenizedBytes extends TokenizedPiece {
  /** Rows as `RowPacker` writes them. */
  readonly packed: Uint8Array
  readonly rows: number
}

/** The CPU-heavy step of a unit. */
export interface TokenizeTasks {
  tokenize(input: TokenizeInput): Promise<TokenizedBytes>
}

/** What one thread does; it keeps the model that it read last. */
export function tokenizeTasks(): TokenizeTasks {
  const packer = new RowPacker()
  let latest: { key: string; model: Promise<ReadModel> } | undefined
  const modelAt = ({ path, today }: ModelPlace): Promise<ReadModel> => {
    const key = `${path}\n${today ?? ''}`
    if (latest?.key !== key) latest = { key, model: loadModel(path, today) }
    return latest.model
  }
  return {
    async tokenize({ piece, context, model }) {
      const ready = await modelAt(model)
      packer.clear()
      const result = await tokenizePiece(piece, context, ready, packer)
      return { ...result, packed: new Uint8Array(packer.packed), rows: packer.rows }
    },
  }
}

async function loadModel(path: string, today: string | undefined): Promise<ReadModel> {
  return await readModel(JSON.parse(await readFile(path, 'utf8')) as ModelFiles, today)
}
