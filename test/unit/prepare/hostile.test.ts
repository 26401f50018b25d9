import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { RejectReason } from '../../../domain/reject.ts'
import type { BadFileReason } from '../../../formats/bad-file.ts'
import { accounted, prepared, temporaryFolder } from './prepared.ts'

/** What a file must come to: prompts and rejects, or a failure of the whole file. */
type Expected = { prompts: number; rejected?: Partial<Record<RejectReason, number>> } | { bad: BadFileReason }

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../fixtures/formats/${name}`, import.meta.url)))
const lines = (...rows: string[]) => Buffer.from(rows.map((row) => `${row}\n`).join(''))
const row = (text: string) => JSON.stringify({ prompt: text })
const good = row('good')
const withColumn = (column: string) => lines(good, `{"prompt":"hostile",${column}}`)
const turns = (messages: string) => lines(good, `{"messages":${messages}}`)
const half = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)
const flipped = (bytes: Buffer, at = bytes.length >> 1) => {
  const copy = Buffer.from(bytes)
  copy[at] = copy[at]! ^ 0xff
  return copy
}
const followed = (bytes: Buffer, by = 'garbage') => Buffer.concat([bytes, Buffer.from(by)])
const rejectOne = (reason: RejectReason): Expected => ({ prompts: 1, rejected: { [reason]: 1 } })
const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const gz = gzipSync(lines(good, row('other')))

const files: Record<string, [Buffer | string, Expected]> = {
  'empty.jsonl': ['', { bad: 'empty' }],
  'only-newlines.jsonl': ['\n\n\r\n', { prompts: 0 }],
  'only-bom.jsonl': ['\ufeff', { prompts: 0, rejected: { invalid_json: 1 } }],
  'bom.jsonl': [`\ufeff${good}\n`, { prompts: 1 }],
  'crlf.jsonl': [`${good}\r\n${row('b')}\r\n`, { prompts: 2 }],
  'no-newline-at-end.jsonl': [`${good}\n${row('b')}`, { prompts: 2 }],
  'blank-lines.jsonl': [`\n${good}\n   \n\t\r\n${row('b')}\n\n`, { prompts: 2 }],
  'torn-last-line.jsonl': [`${good}\n{"prompt":"cut sho`, rejectOne('invalid_json')],
  'torn-inside-character.jsonl': [
    Buffer.concat([lines(good), Buffer.from('{"prompt":"中').subarray(0, -1)]),
    rejectOne('invalid_utf8'),
  ],
  'lone-surrogate.jsonl': [lines(good, '{"prompt":"half \\ud83d"}'), rejectOne('lone_surrogate')],
  'lone-surrogate-in-tools.jsonl': [withColumn('"tools":[{"name":"\\udc00"}]'), rejectOne('lone_surrogate')],
  'surrogate-pair.jsonl': [lines('{"prompt":"whole \\ud83d\\ude00"}'), { prompts: 1 }],
  'backslash-u-as-text.jsonl': [lines('{"prompt":"typed \\\\ud83d and \\\\u0000"}'), { prompts: 1 }],
  'nul-escaped.jsonl': [lines(good, '{"prompt":"a\\u0000b"}'), rejectOne('nul_character')],
  'nul-raw.jsonl': [lines(good, '{"prompt":"a\0b"}'), rejectOne('invalid_json')],
  'nul-block.jsonl': [Buffer.concat([lines(good), Buffer.alloc(5000)]), rejectOne('invalid_json')],
  'duplicate-key.jsonl': [lines(good, '{"prompt":"a","prompt":"b"}'), rejectOne('duplicate_key')],
  'duplicate-key-escaped.jsonl': [lines(good, '{"prompt":"a","pr\\u006fmpt":"b"}'), rejectOne('duplicate_key')],
  'duplicate-key-in-turn.jsonl': [turns('[{"role":"user","content":"a","content":"b"}]'), rejectOne('duplicate_key')],
  'duplicate-key-spaced.jsonl': [lines(good, '{"x" : 1, "prompt":"a", "prompt" \t: "b"}'), rejectOne('duplicate_key')],
  'key-like-text.jsonl': [lines('{"prompt":"\\"prompt\\": \\"prompt\\":","x":"prompt"}'), { prompts: 1 }],
  'same-key-in-other-objects.jsonl': [withColumn('"a":{"x":1},"b":{"x":1}'), { prompts: 2 }],
  'proto-key.jsonl': [withColumn('"__proto__":{"prompt":"polluted"},"constructor":1'), { prompts: 2 }],
  'line-of-50-mb.jsonl': [
    Buffer.concat([lines(good), Buffer.from('{"prompt":"'), Buffer.alloc(50e6, 'x'), lines('"}', row('after'))]),
    { prompts: 2, rejected: { row_too_long: 1 } },
  ],
  'line-of-50-mb-torn.jsonl': [
    Buffer.concat([lines(good), Buffer.from('{"prompt":"'), Buffer.alloc(50e6, 'x')]),
    rejectOne('row_too_long'),
  ],
  'deep-5000.jsonl': [withColumn(`"x":${'['.repeat(5000)}${']'.repeat(5000)}`), rejectOne('too_deep')],
  'deep-5000-objects.jsonl': [withColumn(`"x":${'{"x":'.repeat(5000)}1${'}'.repeat(5000)}`), rejectOne('too_deep')],
  'deep-100000-unclosed.jsonl': [lines(good, '['.repeat(100_000)), rejectOne('invalid_json')],
  'big-id.jsonl': [withColumn('"id":12345678901234567890'), rejectOne('unsafe_number')],
  'big-number-in-tools.jsonl': [withColumn('"tools":[{"max":9007199254740993}]'), rejectOne('unsafe_number')],
  'infinite-number-in-kwargs.jsonl': [withColumn('"chat_template_kwargs":{"x":1e999}'), rejectOne('unsafe_number')],
  'big-number-elsewhere.jsonl': [withColumn('"hash":12345678901234567890'), { prompts: 2 }],
  'utf16-le-bom.jsonl': [utf16(`\ufeff${good}\n`), { bad: 'wrong_encoding' }],
  'utf16-be-bom.jsonl': [utf16(`\ufeff${good}\n`).swap16(), { bad: 'wrong_encoding' }],
  'utf16-le.jsonl': [utf16(`${good}\n`), { bad: 'wrong_encoding' }],
  'utf16-be.jsonl': [utf16(`${good}\n`).swap16(), { bad: 'wrong_encoding' }],
  'utf32.jsonl': [Buffer.from('fffe00007b000000', 'hex'), { bad: 'wrong_encoding' }],
  'latin1-row.jsonl': [
    Buffer.concat([lines(good), Buffer.from('{"prompt":"caf\xe9"}', 'latin1')]),
    rejectOne('invalid_utf8'),
  ],
  'surrogates-as-utf8.jsonl': [
    Buffer.concat([lines(good), Buffer.from('{"prompt":"\xed\xa0\xbd"}', 'latin1')]),
    rejectOne('invalid_utf8'),
  ],
  'overlong-utf8.jsonl': [
    Buffer.concat([lines(good), Buffer.from('{"prompt":"\xc0\xaf"}', 'latin1')]),
    rejectOne('invalid_utf8'),
  ],
  'not-objects.jsonl': [
    lines(good, '1', '"text"', 'null', 'true', '["a"]'),
    { prompts: 1, rejected: { not_an_object: 5 } },
  ],
  'comment.jsonl': [lines(good, '{"prompt":"a"} // note'), rejectOne('invalid_json')],
  'nan.jsonl': [withColumn('"score":NaN'), rejectOne('invalid_json')],
  'python-dict.jsonl': [lines(good, "{'prompt': 'a'}"), rejectOne('invalid_json')],
  'trailing-comma.jsonl': [lines(good, '{"prompt":"a",}'), rejectOne('invalid_json')],
  'two-on-a-line.jsonl': [lines(good, row('a') + row('b')), rejectOne('invalid_json')],
  'control-character.jsonl': [lines(good, '{"prompt":"a\u0001b"}'), rejectOne('invalid_json')],
  'html.jsonl': [lines('<!doctype html>', '<h1>429</h1>'), { prompts: 0, rejected: { invalid_json: 2 } }],
  'html.data': [lines('<!doctype html>', '<h1>429</h1>'), { bad: 'unknown_format' }],
  'lfs-pointer.parquet': [lines('version https://git-lfs.github.com/spec/v1', 'oid sha256:0'), { bad: 'unsupported' }],
  'archive.zip': [Buffer.from('504b030414000000', 'hex'), { bad: 'unsupported' }],
  'two-members.gz': [Buffer.concat([gz, gzipSync(lines(row('third')))]), { prompts: 3 }],
  'truncated.jsonl.gz': [half(gz), { bad: 'corrupt' }],
  'garbage-after.jsonl.gz': [followed(gz), { bad: 'corrupt' }],
  'flipped.jsonl.gz': [flipped(gz), { bad: 'corrupt' }],
  'wrong-checksum.jsonl.gz': [flipped(gz, gz.length - 8), { bad: 'corrupt' }],
  'empty-inside.jsonl.gz': [gzipSync(''), { bad: 'empty' }],
  'twice.jsonl.gz': [gzipSync(gz), { bad: 'unsupported' }],
  'named-gz-but-plain.jsonl.gz': [lines(good), { prompts: 1 }],
  'gz-but-named-plain.jsonl': [gz, { prompts: 2 }],
  'truncated.jsonl.zst': [half(fixture('rows.jsonl.zst')), { bad: 'truncated' }],
  'garbage-after.jsonl.zst': [followed(fixture('rows.jsonl.zst')), { bad: 'corrupt' }],
  'flipped.jsonl.zst': [flipped(fixture('rows.jsonl.zst')), { bad: 'corrupt' }],
  'truncated.jsonl.bz2': [half(fixture('rows.jsonl.bz2')), { bad: 'corrupt' }],
  'flipped.jsonl.bz2': [flipped(fixture('rows.jsonl.bz2')), { bad: 'corrupt' }],
  'truncated.jsonl.xz': [half(fixture('rows.jsonl.xz')), { bad: 'corrupt' }],
  'flipped.jsonl.xz': [flipped(fixture('rows.jsonl.xz')), { bad: 'corrupt' }],
  'truncated-in-row.json': [`[${good},{"prompt":"cut sh`, { bad: 'truncated' }],
  'truncated-between-rows.json': [`[${good},${row('b')}`, { bad: 'truncated' }],
  'garbage-after.json': [`[${good}] and more`, { bad: 'corrupt' }],
  'two-arrays.json': [`[${good}]\n[${row('b')}]`, { bad: 'corrupt' }],
  'empty-array.json': ['[]', { prompts: 0 }],
  'broken-element.json': [`[${good},{"prompt":nonsense},${row('b')}]`, { prompts: 2, rejected: { invalid_json: 1 } }],
  'scalars.json': [`[${good}, 1, "two", null, [${good}]]`, { prompts: 1, rejected: { not_an_object: 4 } }],
  'brackets-in-strings.json': [JSON.stringify([{ prompt: '}]"\\' }, { prompt: '[{\\"' }]), { prompts: 2 }],
  'pretty-printed-objects.json': [`{\n  "prompt": "a"\n}\n{\n  "prompt": "b"\n}\n`, { prompts: 2 }],
  'pretty-printed-torn.json': [`{\n  "prompt": "a"\n}\n{\n  "prompt": "b`, rejectOne('invalid_json')],
  'bom.json': [`\ufeff[${good}]`, { prompts: 1 }],
  'truncated.parquet': [half(fixture('rows-snappy.parquet')), { bad: 'corrupt' }],
  'magic-only.parquet': ['PAR1', { bad: 'corrupt' }],
  'footer-length-too-large.parquet': [
    Buffer.concat([fixture('rows-snappy.parquet').subarray(0, -8), Buffer.from('ffffff7f50415231', 'hex')]),
    { bad: 'corrupt' },
  ],
  'flipped-page.parquet': [flipped(fixture('rows-gzip.parquet'), 284), { bad: 'corrupt' }],
  'not-utf8.parquet': [fixture('not-utf8.parquet'), rejectOne('invalid_utf8')],
  'truncated.arrow': [half(fixture('rows-stream.arrow')), { bad: 'truncated' }],
  'no-end-mark.arrow': [fixture('rows-stream.arrow').subarray(0, -8), { bad: 'truncated' }],
  'junk.arrow': [followed(Buffer.alloc(300, 0xff), 'ARROW1'), { bad: 'corrupt' }],
  'wrong-column-count.csv': ['id,prompt\n1,a\n2,b,c\n3\n', { prompts: 1, rejected: { wrong_column_count: 2 } }],
  'line-breaks-in-field.csv': ['id,prompt\r\n1,"a\r\nb ""quoted"""\r\n2,c\r\n', { prompts: 2 }],
  'open-quote.csv': ['id,prompt\n1,"never closed\n2,b\n', { bad: 'truncated' }],
  'stray-quote.csv': ['id,prompt\n1,a"b"\n2,"b" c\n3,d\n', { prompts: 1, rejected: { invalid_csv: 2 } }],
  'header-only.csv': ['id,prompt\n', { prompts: 0 }],
  'same-column-twice.csv': ['prompt,prompt\na,b\n', { bad: 'corrupt' }],
  'bom.csv': ['\ufeffprompt,id\na,1\n', { prompts: 1 }],
  'latin1.csv': [Buffer.from('prompt\na\ncaf\xe9\n', 'latin1'), rejectOne('invalid_utf8')],
  'turns-as-json.tsv': ['id\tmessages\n1\t"[{""role"":""user"",""content"":""a""}]"\n', { prompts: 1 }],
  'turns-not-a-list.jsonl': [turns('"hello"'), rejectOne('turns_unreadable')],
  'turns-not-objects.jsonl': [turns('["hello"]'), rejectOne('turns_unreadable')],
  'no-turns.jsonl': [turns('[]'), rejectOne('no_user_turn')],
  'content-number.jsonl': [turns('[{"role":"user","content":5}]'), rejectOne('content_unreadable')],
  'content-parts-broken.jsonl': [
    turns('[{"role":"user","content":[{"type":"text"}]}]'),
    rejectOne('content_unreadable'),
  ],
  'role-unknown.jsonl': [turns('[{"role":"narrator","content":"a"}]'), rejectOne('unknown_role')],
  'role-missing.jsonl': [turns('[{"content":"a"}]'), rejectOne('unknown_role')],
  'only-white-space.jsonl': [turns('[{"role":"user","content":" \\n\\u3000"}]'), rejectOne('no_user_turn')],
  'tools-broken.jsonl': [withColumn('"tools":"[{"'), rejectOne('tools_unreadable')],
  'tools-of-text.jsonl': [withColumn('"tools":["search"]'), rejectOne('tools_unreadable')],
  'kwargs-broken.jsonl': [withColumn('"chat_template_kwargs":"{"'), rejectOne('template_kwargs_unreadable')],
  'unknown-columns.jsonl': [lines(good, '{"headline":"a"}'), rejectOne('no_known_columns')],
}

describe('a hostile file gives rejects with their places, or fails as a whole, and never half of itself', () => {
  it.each(Object.entries(files))('%s', async (name, [content, expected]) => {
    const folder = temporaryFolder()
    const uri = join(folder, name)
    writeFileSync(uri, content)
    const fine = join(folder, 'fine.jsonl')
    writeFileSync(fine, lines(row('altogether fine')))
    const sources = [{ name: 'hostile', uri }, fine]

    const { plan, rejects } = await prepared({ sources, onBadFile: 'skip' })
    const [account, fineAccount] = plan.sources
    expect(fineAccount?.prompts).toBe(1)
    expect(accounted(account!)).toBe(account?.read)
    if ('bad' in expected) {
      expect(account).toMatchObject({ read: 0, prompts: 0, skippedFiles: [{ uri, why: expect.stringContaining(uri) }] })
      await expect(prepared({ sources })).rejects.toMatchObject({ name: 'BadFile', reason: expected.bad, uri })
    } else {
      expect(account).toMatchObject({ prompts: expected.prompts, rejected: expected.rejected ?? {}, skippedFiles: [] })
      for (const reject of rejects('hostile')) expect(reject).toMatchObject({ file: name, row: expect.any(Number) })
    }
  })

  it('the suite is large enough', () => {
    expect(Object.keys(files).length).toBeGreaterThanOrEqual(60)
  })

  it('rejects say where: line, byte, and how the row begins', async () => {
    const uri = join(temporaryFolder(), 'data.jsonl')
    writeFileSync(uri, `${good}\n\n${row('zwei')}\n{"prompt": oops}\n`)
    const { rejects } = await prepared({ sources: [uri] })
    expect(rejects('data')).toEqual([
      {
        file: 'data.jsonl',
        row: 4,
        byte: Buffer.byteLength(`${good}\n\n${row('zwei')}\n`),
        reason: 'invalid_json',
        message: expect.stringContaining('not valid JSON'),
        excerpt: '{"prompt": oops}',
      },
    ])
  })
})
