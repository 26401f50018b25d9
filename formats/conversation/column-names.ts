/** Names that datasets give to what a conversation is read from; where several are there, the first that holds something. */

export const idColumns = ['id', 'uuid', 'prompt_id', 'conversation_id', 'conversation_hash'] as const
export const systemColumns = ['system', 'system_prompt'] as const
export const thinkingColumns = ['reasoning', 'thinking_mode', 'thinking'] as const
export const kwargsColumns = ['chat_template_kwargs', 'template_kwargs'] as const
export const roleKeys = ['role', 'from', 'speaker'] as const
export const contentKeys = ['content', 'value', 'text'] as const
