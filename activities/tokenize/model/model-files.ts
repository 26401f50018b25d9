/** What is needed of a model to turn conversations into ids, as its files say it. */
export interface ModelFiles {
  /** `tokenizer.json`, as it is. */
  readonly tokenizer: string
  /** Left out where the model has none: only rows with ids can be used then. */
  readonly template?: string
  /** The template for conversations with tools, where there is one of its own. */
  readonly toolTemplate?: string
  /** Tokens under the names that templates know them by, such as `bos_token`. */
  readonly specialTokens: Readonly<Record<string, string>>
  /** Ids that end a turn. */
  readonly endIds: readonly number[]
}

/** The files of a model are not all there, or not what they should be. */
export class ModelNotReadable extends Error {
  override readonly name = 'ModelNotReadable'
  constructor(
    readonly uri: string,
    readonly problem: string,
    options?: ErrorOptions,
  ) {
    super(`The tokenizer at ${uri} can't be used: ${problem}`, options)
  }
}

/** The text of a model's file by its name; undefined where there is no such file. */
export type ReadModelFile = (name: string) => Promise<string | undefined>

/** Puts together what a model's files say. Throws `ModelNotReadable`. */
export async function readModelFiles(uri: string, read: ReadModelFile): Promise<ModelFiles> {
  const tokenizer = await read('tokenizer.json')
  if (tokenizer === undefined) {
    throw new ModelNotReadable(uri, 'there is no tokenizer.json. Name a folder that has one, or hf://<owner>/<name>.')
  }
  const config = await readJson<TokenizerConfig>(uri, 'tokenizer_config.json', read)
  const generation = await readJson<GenerationConfig>(uri, 'generation_config.json', read)
  const ownTemplate = await read('chat_template.jinja')
  const specialTokens = specialTokensOf(config)
  return {
    tokenizer,
    ...(ownTemplate === undefined ? templatesOf(config) : { template: ownTemplate }),
    specialTokens,
    endIds: endIdsOf(tokenizer, specialTokens, generation),
  }
}

interface TokenizerConfig {
  chat_template?: string | { name: string; template: string }[]
  [name: string]: unknown
}

interface GenerationConfig {
  eos_token_id?: number | number[]
}

async function readJson<Content extends object>(
  uri: string,
  name: string,
  read: ReadModelFile,
): Promise<Partial<Content>> {
  const text = await read(name)
  if (text === undefined) return {}
  try {
    return JSON.parse(text) as Content
  } catch (error) {
    throw new ModelNotReadable(uri, `${name} is no JSON: ${(error as Error).message}`, { cause: error })
  }
}

function templatesOf({ chat_template }: Partial<TokenizerConfig>): Pick<ModelFiles, 'template' | 'toolTemplate'> {
  if (typeof chat_template === 'string') return { template: chat_template }
  const named = (name: string) => chat_template?.find((one) => one.name === name)?.template
  const [template, toolTemplate] = [named('default'), named('tool_use')]
  return { ...(template !== undefined && { template }), ...(toolTemplate !== undefined && { toolTemplate }) }
}

/** A token as a text, or as an object with one. */
function specialTokensOf(config: Partial<TokenizerConfig>): Record<string, string> {
  const tokens: Record<string, string> = {}
  for (const [name, value] of Object.entries(config)) {
    if (!name.endsWith('_token')) continue
    const text = typeof value === 'object' && value !== null ? (value as { content?: unknown }).content : value
    if (typeof text === 'string') tokens[name] = text
  }
  return tokens
}

function endIdsOf(tokenizer: string, { eos_token }: Record<string, string>, generation: GenerationConfig): number[] {
  const { added_tokens = [] } = JSON.parse(tokenizer) as { added_tokens?: { id: number; content: string }[] }
  const named = added_tokens.filter(({ content }) => content === eos_token).map(({ id }) => id)
  return [...new Set([...named, ...[generation.eos_token_id ?? []].flat()])]
}
