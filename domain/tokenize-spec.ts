import { z } from 'zod'
import { leftOutReasons } from './left-out.ts'

const share = z.number().min(0).max(1)
const positive = z.int().min(1)

/** What the tokenize-and-merge stage is asked to do: `tokenize` in a spec. */
export const tokenizeSchema = z.strictObject({
  /** Where the tokenized dataset lives: versions and the pointer to the current one. */
  uri: z.string().regex(/^(file:\/\/\/|s3:\/\/)./, 'must begin with file:/// or s3://'),
  /**
   * The model's tokenizer.json, tokenizer_config.json and chat template: a folder where the data workers run, or
   * `hf://<owner>/<name>[@<revision>]`. Left out: the spec's own `tokenizer`.
   */
  tokenizer: z.string().min(1).optional(),
  /** Tokens of a row at most. */
  maxLength: positive.max(10_000_000).default(32_768),
  /** Longer rows are left out, lose what lies behind `maxLength`, or become several rows. */
  overlong: z.enum(['drop', 'cut', 'split']).default('cut'),
  /** Type of the mask in Arrow and Parquet: a byte or a bit per token. */
  mask: z.enum(['int8', 'bool']).default('int8'),
  /** Also write the rows in these formats, beside Arrow. */
  alsoAs: z.array(z.enum(['jsonl', 'parquet'])).default([]),
  /** The current version's rows stay in the next one, or give way to what is tokenized now. */
  existing: z.enum(['merge', 'replace']).default('merge'),
  /** What to do with new rows whose prompt the current version has. */
  duplicates: z.enum(['keepOld', 'keepNew', 'keepBoth']).default('keepOld'),
  /** Arguments for the chat template, for every row that has only text; a row's own ones come first. */
  templateKwargs: z.record(z.string(), z.unknown()).default({}),
  /** The day that the chat template is told when it asks (YYYY-MM-DD); left out: rows of such templates are refused. */
  today: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a day such as 2026-01-31')
    .optional(),
  /** A running server of the model: its /tokenize must give the same ids before anything is tokenized. */
  server: z
    .string()
    .regex(/^https?:\/\/./, 'must begin with http:// or https://')
    .optional(),
  /** Share of supervised tokens that every source must keep within. */
  supervisedShare: z
    .strictObject({ min: share.default(0.001), max: share.default(0.999) })
    .default({ min: 0.001, max: 0.999 }),
  /** Share of all rows that may be left out for a reason before nothing is published. */
  tolerate: z.partialRecord(z.enum(leftOutReasons), share).default({}),
  /** Aim for data files of this size. */
  fileBytes: positive.default(500_000_000),
  /** Of the shuffle: the same rows with the same seed give the same bytes. */
  seed: z
    .union([z.string().min(1).max(200), z.int()])
    .transform(String)
    .default('longhaul'),
})

export type TokenizeOptions = z.output<typeof tokenizeSchema>
