import type { Sample } from '../../../domain/sample.ts'

const turnsStart = ',"turns":['
const turnsEnd = '],"provenance":{'

/**
 * Parses a line of samples. What the engine read and wrote as ids is most of it and of no use here, so it is cut out before:
 * quotes inside of texts are escaped, and these marks are found nowhere else. The turns of longer conversations are kept,
 * because their token counts are.
 */
export function parseSample(line: Buffer): Sample {
  const start = line.lastIndexOf(turnsStart)
  const end = line.lastIndexOf(turnsEnd)
  if (start < 0 || end < start) return JSON.parse(line.toString('utf8')) as Sample
  const head = line.toString('utf8', 0, start + turnsStart.length)
  const sample = JSON.parse(`${head}${line.toString('utf8', end)}`) as Sample
  const answers = sample.messages.filter(({ role }) => role === 'assistant')
  return answers.length === 1 ? sample : (JSON.parse(line.toString('utf8')) as Sample)
}
