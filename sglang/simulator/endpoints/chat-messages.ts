import type { Engine } from '../engine/engine.ts'
import { Invalid, Refused, Unhandled } from '../engine/errors.ts'
import { type Fields, isFields, missing, pythonRepr, pythonString, pythonTuple } from '../http/body.ts'
import { type ChatMessage, NotText } from '../text/tokenizer.ts'

const roles = ['system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder']

/** The messages of a request body, their contents as plain text. Throws `Invalid` or `Refused`. */
export function chatMessages(fields: Fields): ChatMessage[] {
  const { messages } = fields
  if (messages === undefined) {
    throw new Invalid([
      missing(['body', 'messages'], pythonRepr({ ...fields, tool_choice: fields.tool_choice ?? 'none' })),
    ])
  }
  if (!Array.isArray(messages))
    throw new Invalid([finding('list_type', ['body', 'messages'], 'Input should be a valid list', messages)])
  if (messages.length === 0) throw new Refused('Messages cannot be empty.')
  return messages.map(toMessage)
}

/** Ids of a conversation as the chat template renders it, with the beginning of the answer. */
export function renderedIds(engine: Engine, messages: readonly ChatMessage[], fields: Fields): number[] {
  const kwargs = isFields(fields.chat_template_kwargs) ? fields.chat_template_kwargs : {}
  const wanted = kwargs.enable_thinking ?? kwargs.thinking
  const isContinued = fields.continue_final_message === true && messages.at(-1)?.role === 'assistant'
  const rendered = engine.options.tokenizer.renderChat(messages, {
    addGenerationPrompt: !isContinued,
    ...(isContinued && { continueFinalMessage: true }),
    ...(typeof wanted === 'boolean' && { enableThinking: wanted }),
    ...(Array.isArray(fields.tools) && { tools: fields.tools }),
  })
  return encode(engine, rendered)
}

/** The ids of a text. Throws `Unhandled` where SGLang's tokenizer throws. */
export function encode(engine: Engine, text: string): number[] {
  try {
    return engine.options.tokenizer.encode(text)
  } catch (error) {
    if (error instanceof NotText) throw new Unhandled(error.message)
    throw error
  }
}

function toMessage(message: unknown, at: number): ChatMessage {
  const path = ['body', 'messages', at]
  if (!isFields(message)) throw new Invalid([finding('dict_type', path, 'Input should be a valid dictionary', message)])
  const { role, content, tool_calls, reasoning_content } = message
  const isUser = role === 'user'
  const isKnown = isUser || (typeof role === 'string' && roles.includes(role.toLowerCase()))
  const isMissing = content === null || content === undefined
  if (!isKnown || (isUser && isMissing)) throw new Invalid(roleFindings(path, role, isUser, content))
  return {
    role: String(role),
    content: isMissing ? '' : plainText(content),
    ...(tool_calls !== undefined && { tool_calls }),
    ...(typeof reasoning_content === 'string' && { reasoning_content }),
  }
}

/** Text parts joined; a model without eyes sees nothing of the others. */
function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return String(content)
  const texts = content.map((part) => (isFields(part) && part.type === 'text' ? String(part.text ?? '') : ''))
  return texts.filter((text) => text !== '').join(' ')
}

const finding = (type: string, path: readonly (string | number)[], message: string, input: unknown): string =>
  `{'type': ${pythonString(type)}, 'loc': ${pythonTuple(path)}, 'msg': ${pythonString(message)}, 'input': ${pythonRepr(input)}}`

/** The web framework tries each kind of message and tells why none fits. */
function roleFindings(path: readonly (string | number)[], role: unknown, isUser: boolean, content: unknown): string[] {
  const known = `'role' must be one of ${roles.map((name) => `'${name}'`).join(', ')} (case-insensitive).`
  const generic = `{'type': 'value_error', 'loc': ${pythonTuple([...path, 'ChatCompletionMessageGenericParam', 'role'])}, 'msg': ${pythonString(`Value error, ${known}`)}, 'input': ${pythonRepr(role)}, 'ctx': {'error': ValueError(${pythonString(known)})}}`
  const user = [...path, 'ChatCompletionMessageUserParam']
  if (!isUser) {
    return [
      generic,
      `{'type': 'literal_error', 'loc': ${pythonTuple([...user, 'role'])}, 'msg': "Input should be 'user'", 'input': ${pythonRepr(role)}, 'ctx': {'expected': "'user'"}}`,
    ]
  }
  const parts = ['Text', 'Image', 'Video', 'Audio'].map((kind) => `ChatCompletionMessageContent${kind}Part`)
  const list = `list[union[${[...parts, 'ChatCompletionMessageContentToolReferenceBlock'].join(',')}]]`
  return [
    generic,
    finding('string_type', [...user, 'content', 'str'], 'Input should be a valid string', content),
    finding('list_type', [...user, 'content', list], 'Input should be a valid list', content),
  ]
}
