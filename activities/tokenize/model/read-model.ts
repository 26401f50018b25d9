import type { ReadModel } from '../rows/tokenize-conversation.ts'
import { ChatTemplate } from './chat-template.ts'
import type { ModelFiles } from './model-files.ts'
import { TokenModel } from './token-model.ts'

/** Makes a model's files ready for use. Throws `TokenizerNotUsable` and `TemplateNotReadable`. */
export async function readModel(files: ModelFiles, today: string | undefined): Promise<ReadModel> {
  const { template } = files
  return {
    tokens: await TokenModel.read(files.tokenizer),
    ...(template !== undefined && { template: new ChatTemplate({ ...files, template }, today) }),
    endIds: new Set(files.endIds),
  }
}
