import { z } from 'zod'
import { compiled } from './pattern.ts'
import { knownScripts } from './scripts.ts'

/** The parts of a spec that only the prepare stage reads. */

const positive = z.int().min(1)

export const sourceUri = z
  .string()
  .regex(
    /^(\/|file:\/\/\/|s3:\/\/|https?:\/\/|hf:\/\/)/,
    'must be an absolute path or begin with file:///, s3://, http(s):// or hf://',
  )

const format = z.enum(['auto', 'jsonl', 'json', 'parquet', 'arrow', 'csv', 'tsv']).default('auto')

/** Where prepare finds turns and columns when detection can't know: a row key, or a path with dots. */
export const mappingSchema = z.strictObject({
  turns: z.string().optional(),
  role: z.string().optional(),
  content: z.string().optional(),
  /** Column or columns (joined by a blank line) that hold a single-turn prompt. */
  prompt: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  system: z.string().optional(),
  id: z.string().optional(),
  tools: z.string().optional(),
  /** Further role names and what they stand for. */
  roles: z.record(z.string(), z.enum(['system', 'user', 'assistant', 'tool'])).optional(),
})

/** A regular expression as in JavaScript with the flag `u`, or `/…/flags`. */
const regex = z.string().refine((pattern) => compiled(pattern) !== undefined, 'must be a regular expression')

export const filtersSchema = z.strictObject({
  /** Characters (code points) of all turns together. */
  minChars: z.int().min(0).optional(),
  maxChars: positive.optional(),
  /** Tokens of all turns together, without the template: counted with `tokenizer`, else estimated. */
  minTokens: positive.optional(),
  maxTokens: positive.optional(),
  /** User turns. */
  minTurns: positive.optional(),
  maxTurns: positive.optional(),
  /** Unicode scripts, such as `Latin` or `Han`: the prompt's main script must be one of them. */
  scripts: z.array(z.enum(knownScripts)).min(1).optional(),
  /** Regular expressions: one of `include` must be found in some turn, none of `exclude` in any. */
  include: z.array(regex).min(1).optional(),
  exclude: z.array(regex).min(1).optional(),
  thinking: z.enum(['on', 'off']).optional(),
})

/** What to do with turns that datasets disagree about. */
export const turnPolicySchema = z.strictObject({
  /** Results of tool calls that the source's assistant made. */
  toolResults: z.enum(['keep', 'drop']).default('keep'),
  /** A system turn after the first user turn. */
  midSystem: z.enum(['keep', 'drop', 'reject']).default('keep'),
  /** A user turn right after a user turn: answered each, or made one. */
  consecutiveUsers: z.enum(['keep', 'merge']).default('keep'),
})

/** Prompts that are nearly the same as an earlier one, found by MinHash over word 5-grams. */
export const nearDuplicatesSchema = z.strictObject({
  /** Share of common 5-grams from which on two prompts are likely to count as the same. */
  similarity: z.number().min(0.5).max(0.99).default(0.8),
})

/** Evaluation data that no prompt may be taken from. */
export const decontaminateSchema = z.strictObject({
  against: z
    .array(
      z.strictObject({
        uri: sourceUri,
        format,
        mapping: mappingSchema.optional(),
      }),
    )
    .min(1),
  /** Words in a row that must not be shared. Shorter texts count as a whole, from `minWords` on. */
  ngram: z.int().min(3).max(50).default(13),
  minWords: z.int().min(1).max(50).default(8),
})

export const formatSchema = format
export type Mapping = z.infer<typeof mappingSchema>
export type TurnPolicy = z.output<typeof turnPolicySchema>
export type Filters = z.infer<typeof filtersSchema>
export type NearDuplicates = z.output<typeof nearDuplicatesSchema>
export type Decontaminate = z.output<typeof decontaminateSchema>
