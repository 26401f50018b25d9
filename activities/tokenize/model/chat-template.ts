import { compileTemplate, type RenderTemplate } from '../template/render-template.ts'
import { toValue, type Value } from '../template/values.ts'
import type { ModelFiles } from './model-files.ts'

/** What a chat template is given beside the turns. */
export interface TemplateInput {
  readonly tools?: Value
  readonly kwargs: ReadonlyMap<string, Value>
}

/** A model's chat template: conversations as the model reads them. */
export class ChatTemplate {
  readonly #render: RenderTemplate
  readonly #renderTools: RenderTemplate
  readonly #fixed: [string, Value][]

  /** Throws `TemplateNotReadable`. */
  constructor({ template, toolTemplate, specialTokens }: ModelFiles & { template: string }, today?: string) {
    const options = today === undefined ? {} : { today: new Date(today) }
    this.#render = compileTemplate(template, options)
    this.#renderTools = toolTemplate === undefined ? this.#render : compileTemplate(toolTemplate, options)
    this.#fixed = Object.entries(specialTokens).map(([name, token]) => [name, toValue(token)])
  }

  /** With `addGenerationPrompt` up to where the model's answer begins. Throws `TemplateFailed`. */
  render(messages: readonly Value[], { tools, kwargs }: TemplateInput, addGenerationPrompt: boolean): string {
    const context = new Map<string, Value>([
      ...this.#fixed,
      ['documents', null],
      ...kwargs,
      ['messages', [...messages]],
      ['tools', tools ?? null],
      ['add_generation_prompt', addGenerationPrompt],
    ])
    return (tools === undefined ? this.#render : this.#renderTools)(context)
  }
}
