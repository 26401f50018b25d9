/** What is to be tokenized, or what with, can't be used. Nothing was published. */
export class TokenizeRefused extends Error {
  override readonly name = 'TokenizeRefused'
}

/** The tokens are not what a trainer may be given; the message has a line per finding. Nothing was published. */
export class GateClosed extends Error {
  override readonly name = 'GateClosed'
  constructor(
    readonly uri: string,
    readonly findings: readonly string[],
  ) {
    super(
      `The tokens for ${uri} are not published:\n${findings.map((finding) => `  - ${finding}`).join('\n')}\n` +
        'What is tokenized already is kept: change the spec or the data and start the stage again.',
    )
  }
}
