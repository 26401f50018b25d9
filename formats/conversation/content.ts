import { RowRejected, shown } from '../row-rejected.ts'
import { isObject, type Row } from './row.ts'

/** Columns that hold media in multimodal datasets. */
export const mediaColumns = ['image', 'images', 'video', 'videos', 'audio', 'audios']
const mediaParts = /^(image|input_image|image_url|audio|input_audio|video|video_url)/
/** How text-only columns refer to media that lie elsewhere. */
export const mediaMarks = ['<image>', '<video>', '<audio>']

/** Stands for a text whose bytes are not UTF-8, in rows of binary formats. */
export class InvalidText {}

/** The text of a turn, byte for byte: a string, or the text parts of a list joined. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  if (Array.isArray(content)) return content.map(partText).join('')
  if (content instanceof InvalidText) throw new RowRejected('invalid_utf8')
  throw new RowRejected('content_unreadable', shown(content))
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part
  if (!isObject(part)) throw new RowRejected('content_unreadable', shown(part))
  const type = typeof part.type === 'string' ? part.type : 'text'
  if (mediaParts.test(type)) throw new RowRejected('multimodal', `a part of type ${shown(type)}`)
  if (typeof part.text === 'string') return part.text
  if (part.text === null) return ''
  throw new RowRejected('content_unreadable', shown(part))
}

/** Whether a text says something: white space alone does not. */
export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/** Refuses rows whose prompts would be about something that the model is not shown. */
export function refuseMedia(row: Row): void {
  for (const column of mediaColumns) {
    const value = row[column]
    const isEmpty = value === undefined || value === null || value === '' || (Array.isArray(value) && !value.length)
    if (!isEmpty) throw new RowRejected('multimodal', `a column ${shown(column)}`)
  }
}

export function hasMediaMark(text: string): boolean {
  return mediaMarks.some((mark) => text.includes(mark))
}

/** Refuses texts that can't be carried byte for byte. */
export function refuseUnfitText(text: string): void {
  if (!(text as WellFormed).isWellFormed()) throw new RowRejected('lone_surrogate')
  if (text.includes('\0')) throw new RowRejected('nul_character')
}

/** In Node since 20.0, in TypeScript's libraries since ES2024. */
type WellFormed = string & { isWellFormed(): boolean }
