import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes a source of `count` different prompts and returns its path. */
export async function writePrompts(folder: string, count: number, name = 'prompts.jsonl'): Promise<string> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, name)
  const rows = Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      messages: [{ role: 'user', content: `Question ${n} of ${name}: what follows from ${n * 7919}?` }],
    }),
  )
  await writeFile(file, `${rows.join('\n')}\n`)
  return file
}
