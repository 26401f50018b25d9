import type { Engine } from '../engine/engine.ts'
import { Invalid, Refused } from '../engine/errors.ts'
import { type Fields, isFields, parseBody } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { json, openAiFailure, type Reply } from '../http/reply.ts'
import { chatMessages, encode, renderedIds } from './chat-messages.ts'

/** `/tokenize`: the ids of a text, or of a conversation as the chat template renders it. */
export function tokenize(engine: Engine, call: Call): Reply {
  try {
    const fields = parseBody(call.body)
    if (!isFields(fields)) throw new Invalid(["{'type': 'model_attributes_type', 'loc': ('body',)}"])
    const max_model_len = engine.options.contextLength
    const tokens = tokensOf(engine, fields)
    const count = isNested(tokens) ? tokens.map((list) => list.length) : tokens.length
    return json({ tokens, count, max_model_len })
  } catch (error) {
    return openAiFailure(error)
  }
}

/** `/detokenize`: the text of ids. */
export function detokenize(engine: Engine, call: Call): Reply {
  try {
    const fields = parseBody(call.body)
    if (!isFields(fields) || !Array.isArray(fields.tokens)) {
      throw new Refused('Invalid tokens type: must be List[int] or List[List[int]]')
    }
    const { tokenizer } = engine.options
    const skipsSpecial = fields.skip_special_tokens !== false
    const textOf = (ids: unknown) => {
      if (!Array.isArray(ids) || !ids.every((id) => Number.isInteger(id))) {
        throw new Refused('Invalid input: all tokens must be integers')
      }
      return tokenizer.decode(skipsSpecial ? ids.filter((id) => !tokenizer.isSpecial?.(id)) : ids)
    }
    const { tokens } = fields
    return json({ text: Array.isArray(tokens[0]) ? tokens.map(textOf) : textOf(tokens) })
  } catch (error) {
    return openAiFailure(error)
  }
}

function tokensOf(engine: Engine, fields: Fields): number[] | number[][] {
  const { prompt, messages } = fields
  if (messages !== undefined) return renderedIds(engine, chatMessages(fields), fields)
  if (typeof prompt === 'string') return encode(engine, prompt)
  if (Array.isArray(prompt)) return prompt.map((text) => encode(engine, String(text)))
  throw new Refused('Either prompt or messages must be provided')
}

function isNested(tokens: number[] | number[][]): tokens is number[][] {
  return Array.isArray(tokens[0])
}
