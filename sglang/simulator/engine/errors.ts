/** A request that the server refuses; each API puts it into an envelope of its own. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(
    message: string,
    readonly status = 400,
    /** SGLang calls the same thing by several names. */
    readonly type: 'BadRequestError' | 'BadRequest' = 'BadRequestError',
  ) {
    super(message)
  }
}

/** A request that makes SGLang's own code throw. */
export class Unhandled extends Error {
  override readonly name = 'Unhandled'
}

/** The scheduler gave a request up with a status, which becomes the HTTP status. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp'
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message)
  }
}

/** A body that does not match the endpoint's schema. */
export class Invalid extends Error {
  override readonly name = 'Invalid'
  /** Each finding as Python prints it. */
  constructor(readonly findings: readonly string[]) {
    super(
      `${findings.length} validation error${findings.length === 1 ? '' : 's'}:\n${findings.map((finding) => `  ${finding}`).join('\n')}`,
    )
  }
}

/** A body that is not even text. */
export class Unparsable extends Error {
  override readonly name = 'Unparsable'
}

/** From 0.5.22 on: a request that the server's own schema does not know. */
export class OutsideContract extends Error {
  override readonly name = 'OutsideContract'
}
