import { move, transferableSymbol, valueSymbol } from 'piscina'
import { type TokenizeInput, tokenizeTasks } from './tokenize-tasks.ts'

/** What each thread runs. */
const tasks = tokenizeTasks()

/** The rows are moved and not copied to the thread that asked: they are megabytes. */
export async function tokenize(input: TokenizeInput) {
  const result = await tasks.tokenize(input)
  return move({ [transferableSymbol]: [result.packed.buffer], [valueSymbol]: result })
}
