/** Pieces on which tokenizers, normalisations and regular expressions of different makes disagree. */
const pieces = [
  ...[
    'Hello',
    ' world',
    'the',
    ' The',
    "it's",
    "IT'S",
    "don'T",
    "we'll",
    "'ſ",
    'naïve',
    'café',
    'cafe\u0301',
    'ﬁ',
    'ǅ',
  ],
  ...['0', '12', '345', '6789', '1234567890', '٣٤', '½', '²', 'Ⅷ', '３'],
  ...[
    ' ',
    '  ',
    '    ',
    '\t',
    '\n',
    '\n\n',
    '\r\n',
    ' \n',
    '\n ',
    '\u00a0',
    '\u2003',
    '\u3000',
    '\u0085',
    '\u2028',
    '\ufeff',
    '\u200b',
  ],
  ...[
    '.',
    ',',
    '!',
    '...',
    '---',
    '=====',
    '();',
    '{}',
    '[]',
    '<',
    '>',
    '"',
    "'",
    '`',
    '```',
    '\\',
    '/',
    '//',
    '#',
    '$',
    '_',
    '__init__',
  ],
  ...[
    '中文',
    '，',
    '日本語',
    'ひらがな',
    '한국어',
    'العربية',
    'עברית',
    'Ελληνικά',
    'русский',
    'हिन्दी',
    'ไทย',
    'ქართული',
    'አማርኛ',
  ],
  ...['😀', '👩‍👩‍👧', '🇸🇰', '❤️', '🏳️‍🌈', '🫠', '🪿', '\u{1f9ff}', '\u{2a6df}', '\u{1e900}', '\u{10ffff}'],
  ...['e\u0323\u0302', '\u1100\u1161\u11a8', '가', 'Å', '\u212b', 'Ω', '\u2126', '\u0344', '\u0958', 'ﷺ'],
  ...[
    '<think>',
    '</think>',
    '<tool_call>',
    '<|im_start|>',
    '<|im_end|>',
    '<|eot_id|>',
    '<|endoftext|>',
    '<|im_',
    'end|>',
  ],
  ...[
    'def f(x):\n    return x  # note',
    'const a = { b: 1 }',
    'SELECT * FROM t;',
    'http://a.b/c?d=e&f=%20',
    'x'.repeat(40),
    'ab'.repeat(300),
  ],
  ...[
    'antidisestablishmentarianism',
    'zzzzqqqqxxxx',
    'aaaaaaaaaaaa',
    'camelCaseWord',
    'snake_case_word',
    'K\u212a',
    '\u0000',
    '\u001f',
    '\u007f',
  ],
]

/** `count` texts made of these, the same for the same seed. */
export function trickyTexts(count: number, seed: number): string[] {
  const random = seeded(seed)
  return Array.from({ length: count }, () => {
    const length = 1 + Math.floor(random() * 12)
    return Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)] ?? '').join('')
  })
}

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
