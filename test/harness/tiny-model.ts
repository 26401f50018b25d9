import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { charOfByte } from '../../activities/tokenize/model/byte-alphabet.ts'

const controls = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
const merges = ['e r', 'Ġ a', 'i s', 'o n', 'q u', 'a n', 's t', 'e st', 'an s', 'w er', 'st i', 'i on', 'ans wer']

/** ChatML as Qwen2.5 has it. */
const template =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** Writes the files of a model with a vocabulary of a few hundred tokens, which is read in no time. Gives the folder. */
export function writeTinyModel(folder: string): string {
  const tokens = [...charOfByte, ...merges.map((merge) => merge.replace(' ', ''))]
  const split = {
    type: 'Split',
    pattern: {
      Regex: '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
    },
    ...{ behavior: 'Isolated', invert: false },
  }
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false }
  const tokenizer = {
    ...{ version: '1.0', truncation: null, padding: null },
    added_tokens: controls.map((content, n) => ({
      ...{ id: tokens.length + n, content, special: true },
      ...{ single_word: false, lstrip: false, rstrip: false, normalized: false },
    })),
    normalizer: { type: 'NFC' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [split, byteLevel] },
    ...{ post_processor: null, decoder: byteLevel },
    model: {
      ...{ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null },
      ...{ fuse_unk: false, byte_fallback: false, ignore_merges: false },
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer))
  writeFileSync(
    join(folder, 'tokenizer_config.json'),
    JSON.stringify({ chat_template: template, eos_token: '<|im_end|>', tokenizer_class: 'PreTrainedTokenizerFast' }),
  )
  return folder
}
