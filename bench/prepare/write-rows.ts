import { existsSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'

const words =
  'the of and to in is that for it with as on be by this are from or data model question answer function return value let \
compute following example step result because therefore given number write list string class method explain difference \
between code python first second third please translate sentence summary article history science music travel recipe'.split(
    ' ',
  )

/** One row in so many is a repetition of an earlier one. */
const duplicateEvery = 20

/**
 * Writes chats as ShareGPT has them, about 3 KB each, half of it said by the user. The same rows at every call; does nothing
 * when the file is there.
 */
export async function writeRows(path: string, rows: number): Promise<void> {
  if (existsSync(path)) return
  const random = generator(rows)
  const file = await open(`${path}.part`, 'w')
  let lines: string[] = []
  let earlier = ''
  for (let n = 0; n < rows; n++) {
    const line = n % duplicateEvery === duplicateEvery - 1 ? earlier : rowOf(n, random)
    if (n % duplicateEvery === 0) earlier = line
    lines.push(line)
    if (lines.length < 1000) continue
    await file.write(lines.join(''))
    lines = []
  }
  await file.write(lines.join(''))
  await file.close()
  await rename(`${path}.part`, path)
}

function rowOf(n: number, random: () => number): string {
  const turn = (from: string, chars: number) => ({ from, value: textOf(chars, random) })
  const conversations = [turn('human', 1000), turn('gpt', 900), turn('human', 500), turn('gpt', 550)]
  return `${JSON.stringify({ id: `row-${n}`, source: 'bench', conversations })}\n`
}

/** Words with quotes, code marks, line breaks and now and then a letter beyond ASCII, as chats have them. */
function textOf(chars: number, random: () => number): string {
  let text = ''
  while (text.length < chars) {
    const choice = random()
    text += words[Math.floor(choice * words.length)] ?? ''
    const mark = random()
    text += mark < 0.02 ? '.\n\n' : mark < 0.03 ? '\n```\n' : mark < 0.04 ? ' "so" ' : mark < 0.042 ? ' é ' : ' '
  }
  return text
}

function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
