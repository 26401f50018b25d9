/**
 * What can go wrong with a store. Every error carries its facts as fields and builds its own sentence from them, so that
 * nobody has to match on messages. None of them ever carries a credential.
 */

/** Common to all errors of a store. */
export abstract class StoreError extends Error {
  /** Whether the same call may succeed later without anyone changing anything. */
  abstract readonly isTransient: boolean

  constructor(
    message: string,
    readonly uri: string,
    readonly key: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

export class ObjectNotFound extends StoreError {
  readonly isTransient = false

  constructor(uri: string, key: string) {
    super(
      `There is no object ${uri}/${key}. Check the key, and that the run that writes it has got that far.`,
      uri,
      key,
    )
  }
}

export class BucketNotFound extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    readonly bucket: string,
  ) {
    super(
      `The bucket ${bucket} of ${uri} does not exist at this endpoint. Create it, or check endpoint and region.`,
      uri,
      '',
    )
  }
}

export class PreconditionFailed extends StoreError {
  readonly isTransient = false

  /**
   * @param required what the caller asked for: no object, or one with this etag.
   * @param mayHaveLanded an earlier attempt of the same call got no reply, so that it may have been carried out and then
   *   been overwritten by somebody else. Read the object before writing again.
   */
  constructor(
    uri: string,
    key: string,
    readonly required: 'absent' | { readonly etag: string },
    readonly mayHaveLanded = false,
  ) {
    super(
      `${uri}/${key} ${required === 'absent' ? 'exists already' : `no longer has the etag ${required.etag}`}: somebody else ` +
        `wrote it first, and nothing of it was changed${mayHaveLanded ? ' unless an earlier attempt whose reply was lost did so' : ''}. ` +
        'Read it again and decide anew.',
      uri,
      key,
    )
  }
}

export class InvalidKey extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly reason: string,
  ) {
    super(`${JSON.stringify(key)} cannot be a key in ${uri}: ${reason}.`, uri, key)
  }
}

/** On a file system a name is a folder or a file, never both. */
export class KeyIsFolder extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly folder: string,
  ) {
    super(
      folder === key
        ? `${uri}/${key} is a folder with objects in it, so it cannot be an object as well. Choose another key.`
        : `${uri}/${folder} is an object, so no key below it such as ${key} can be one. Choose another key.`,
      uri,
      key,
    )
  }
}

export class RangeNotSatisfiable extends StoreError {
  readonly isTransient = false

  /** @param bytes size of the object where it is known. */
  constructor(
    uri: string,
    key: string,
    readonly start: number,
    readonly bytes?: number,
  ) {
    super(
      `${uri}/${key} has ${bytes === undefined ? 'no byte' : `${bytes} bytes, so none`} at offset ${start}. ` +
        'Ask for a range that begins inside the object.',
      uri,
      key,
    )
  }
}

/** The store did not answer, or only with errors that pass, for longer than the caller was willing to wait. */
export class StoreUnavailable extends StoreError {
  readonly isTransient = true

  constructor(
    uri: string,
    key: string,
    readonly operation: string,
    readonly attempts: number,
    readonly elapsedMs: number,
    cause: unknown,
  ) {
    const seconds = (elapsedMs / 1000).toFixed(elapsedMs < 10_000 ? 1 : 0)
    super(
      `${operation} ${uri}/${key} failed ${attempts} times in ${seconds} s, at last with: ${messageOf(cause)}. ` +
        'Check that the store is up and within reach, then try again: nothing is half written.',
      uri,
      key,
      { cause },
    )
  }
}

/** The store answered, and its answer is no: permissions, a wrong region, a feature it does not have. */
export class StoreRefused extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly operation: string,
    readonly code: string,
    readonly status: number | undefined,
    cause: unknown,
  ) {
    super(
      `${operation} ${uri}/${key} was refused with ${code}${status === undefined ? '' : ` (HTTP ${status})`}: ${messageOf(cause)}. ` +
        'Check credentials, permissions, endpoint and region.',
      uri,
      key,
      { cause },
    )
  }
}

/** The server dropped an unfinished multipart upload (or somebody collected it). The whole stream has to be sent again. */
export class UploadLost extends StoreError {
  readonly isTransient = true

  constructor(uri: string, key: string) {
    super(
      `The server no longer knows the unfinished upload of ${uri}/${key}, and the object is not there. Send it again from ` +
        'the start; if this repeats, look for a lifecycle rule that aborts multipart uploads too early.',
      uri,
      key,
    )
  }
}

/** What was read is not what was written. */
export class ObjectCorrupt extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly problem: string,
    cause?: unknown,
  ) {
    super(`${uri}/${key} is damaged: ${problem}. Restore it from its source or backup.`, uri, key, { cause })
  }
}

/** The object is whole but not in the format that its reader expects. */
export class MalformedObject extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly problem: string,
    cause?: unknown,
  ) {
    super(`${uri}/${key} cannot be read: ${problem}.`, uri, key, { cause })
  }
}

export class ObjectTooLarge extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly limitBytes: number,
    readonly remedy: string,
  ) {
    super(`${uri}/${key} would be larger than ${limitBytes} bytes. ${remedy}`, uri, key)
  }
}

/** A write-once object is there with other content: two writers disagree about what it should be. */
export class WriteOnceConflict extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    key: string,
    readonly existingSha256: string,
    readonly ownSha256: string,
  ) {
    super(
      `${uri}/${key} is written once and holds other content already: it has sha256 ${existingSha256}, this writer's is ` +
        `${ownSha256}. It was left as it is. Find out which writer is right before removing it.`,
      uri,
      key,
    )
  }
}

/** The server overwrites where it should refuse, so that two writers could both believe that they have won. */
export class ConditionalPutsIgnored extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    readonly ignored: readonly string[],
  ) {
    super(
      `The server of ${uri} does not honour ${ignored.join(', ')}: of two writers both would believe that they had won, so ` +
        'runs and datasets are not safe there. Use a server that honours conditional writes (docs/store.md lists them).',
      uri,
      '',
    )
  }
}

export class UnsupportedStoreUri extends StoreError {
  readonly isTransient = false

  constructor(
    uri: string,
    readonly reason: string,
  ) {
    super(
      `${JSON.stringify(uri)} is not a store: ${reason}. Stores look like file:///data/longhaul or s3://bucket/prefix.`,
      uri,
      '',
    )
  }
}

function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return message.replace(/[.\s]+$/, '')
}
