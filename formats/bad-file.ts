/** Why a file can't be read, as the end of a sentence that begins with its name. */
export const badFileReasons = {
  empty: 'is empty',
  truncated: 'ends too early',
  corrupt: 'is damaged',
  wrong_encoding: 'is not UTF-8',
  unknown_format: 'is in no known format; `format` in the spec can name it',
  unsupported: 'is of a kind that is not read',
} as const

export type BadFileReason = keyof typeof badFileReasons

/** A file that can't be read to its end: all of it counts as bad, never the rest in silence. */
export class BadFile extends Error {
  override readonly name = 'BadFile'
  constructor(
    readonly reason: BadFileReason,
    /** What was found, and where. */
    readonly found: string,
    readonly uri?: string,
    options?: ErrorOptions,
  ) {
    super(`${uri ?? 'The file'} ${badFileReasons[reason]}: ${found}`, options)
  }

  /** The same, said of the file that it happened in. */
  in(uri: string): BadFile {
    return this.uri === undefined ? new BadFile(this.reason, this.found, uri, { cause: this.cause }) : this
  }
}

/** Runs `work`; whatever a library throws there means that the file is damaged. */
export async function blamingFile<T>(work: () => Promise<T>, where = ''): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BadFile) throw error
    throw new BadFile('corrupt', `${where}${messageOf(error)}`, undefined, { cause: error })
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
