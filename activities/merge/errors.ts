import type { RowCounts } from '../../domain/dataset.ts'

/** A file is not what the records say of it. Nothing was published; the current version is as it was. */
export class DatasetDamaged extends Error {
  override readonly name = 'DatasetDamaged'
  constructor(
    readonly uri: string,
    readonly problem: string,
  ) {
    super(
      `${uri} ${problem}. Nothing was published and the current version is as it was. Restore the file, or roll back to a version that is whole.`,
    )
  }
}

/** A back-up holds something else than the version that it is a back-up of. */
export class BackupNotVerified extends Error {
  override readonly name = 'BackupNotVerified'
  constructor(
    readonly uri: string,
    readonly problem: string,
  ) {
    super(
      `The back-up ${uri} ${problem}. Nothing is merged without a verified back-up; remove that file and try again.`,
    )
  }
}

/** Rows were lost or made up on the way: never by policy, always by a mistake or a damaged disk. */
export class CountsDisagree extends Error {
  override readonly name = 'CountsDisagree'
  constructor(
    readonly what: string,
    readonly counts: RowCounts,
  ) {
    super(
      `The rows of ${what} do not add up: ${counts.old} old + ${counts.new} new are not ${counts.duplicates} duplicates + ` +
        `${counts.dropped} dropped + ${counts.merged} merged. Nothing was published.`,
    )
  }
}

/** What was named as a run is none that can be merged. */
export class RunNotMergeable extends Error {
  override readonly name = 'RunNotMergeable'
}

/** A row that can't be read; whoever reads the file says which file it is. */
export class BadRow extends Error {
  override readonly name = 'BadRow'
  constructor(
    /** From 1. */
    readonly row: number,
    readonly problem: string,
  ) {
    super(`row ${row} ${problem}`)
  }
}

/** What lies there can't become a dataset as it is. */
export class NotADataset extends Error {
  override readonly name = 'NotADataset'
  constructor(
    readonly uri: string,
    readonly problem: string,
  ) {
    super(`${uri} ${problem}.`)
  }
}

/** Somebody else moved the pointer while a command was at work. */
export class PointerMoved extends Error {
  override readonly name = 'PointerMoved'
  constructor(readonly uri: string) {
    super(`The current version of ${uri} changed meanwhile. Nothing was published; look at it and decide anew.`)
  }
}
