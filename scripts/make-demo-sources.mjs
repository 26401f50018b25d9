// Writes the source files and the small dataset that the demo works on. Run by hand; what it writes is in the repository.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../demo/', import.meta.url))

const topics = [
  'tides',
  'beekeeping',
  'sourdough bread',
  'bicycle gears',
  'solar panels',
  'chess openings',
  'glaciers',
  'violin strings',
  'compost',
  'lighthouses',
  'river deltas',
  'woodworking joints',
  'weather fronts',
  'coral reefs',
  'steam engines',
  'calligraphy',
  'watercolour painting',
  'mountain huts',
  'sailing knots',
  'mushroom foraging',
  'radio telescopes',
  'clockwork',
  'pottery glazes',
  'bird migration',
  'container gardening',
  'dry stone walls',
  'espresso',
  'tectonic plates',
  'origami',
  'night trains',
  'fermented vegetables',
  'wind turbines',
  'map projections',
  'bridge cables',
  'honey bees',
  'lunar eclipses',
  'hand looms',
  'salt marshes',
  'ice skating',
  'public libraries',
]
const questions = [
  (t) => `What should a beginner know about ${t}?`,
  (t) => `Explain ${t} to a ten-year-old in five sentences.`,
  (t) => `Which three mistakes do people make most often with ${t}?`,
  (t) => `Write a short checklist for a weekend workshop on ${t}.`,
  (t) => `How have ${t} changed over the last hundred years?`,
  (t) => `Give me a quiz of four questions about ${t}, with answers.`,
  (t) => `What is hard to measure about ${t}, and how is it done anyway?`,
  (t) => `Compare two schools of thought on ${t}.`,
  (t) => `Suggest a budget for getting started with ${t}.`,
  (t) => `Describe a day in the life of someone who works with ${t}.`,
  (t) => `What would an engineer ask first about ${t}?`,
  (t) => `Summarise the safety rules around ${t}.`,
  (t) => `Tell a short story in which ${t} matter.`,
  (t) => `Which words do experts on ${t} use that others misunderstand?`,
  (t) => `Make the case for teaching ${t} at school.`,
  (t) => `List sources for learning more about ${t}, and say how to judge them.`,
]
const followUps = [
  'Can you make that shorter?',
  'And what does it cost?',
  'Give an example from daily life.',
  'What did you leave out?',
]
const systems = ['You answer briefly and precisely.', 'You are a patient teacher.', '']
const tasks = [
  [
    'Rewrite the sentence in plain language.',
    (t) => `The multifarious intricacies of ${t} elude superficial comprehension.`,
  ],
  ['Turn the note into a polite e-mail.', (t) => `meeting on ${t} moved to thursday, bring last year's numbers`],
  [
    'Find a title for the text.',
    (t) => `A long afternoon, a leaking roof, and everything one always wanted to know about ${t}.`,
  ],
  [
    'Write unit tests for the function that the sentence describes.',
    (t) => `It counts how often ${t} occur in a list of lines.`,
  ],
  ['Translate into French.', (t) => `We would like to learn more about ${t}.`],
  ['', (t) => `Write a haiku about ${t}.`],
  ['Sort these by importance and say why.', (t) => `tools, patience, money, luck: for ${t}`],
  ['Name the odd one out.', (t) => `${t}, prime numbers, subtraction, algebra`],
]

const chats = topics.flatMap((topic, i) =>
  questions.map((ask, j) => ({
    id: `chat-${i}-${j}`,
    messages: [
      ...(systems[(i + j) % 3] ? [{ role: 'system', content: systems[(i + j) % 3] }] : []),
      { role: 'user', content: ask(topic) },
      { role: 'assistant', content: 'An answer that is going to be written anew.' },
      ...(j % 4 === 0
        ? [
            { role: 'user', content: followUps[i % 4] },
            { role: 'assistant', content: 'Another one.' },
          ]
        : []),
    ],
  })),
)
const shared = topics.flatMap((topic, i) =>
  questions.map((ask) => ({
    conversations: [
      { from: 'human', value: `${ask(topic)} Please think of readers who live far from any city.` },
      { from: 'gpt', value: 'An answer that is going to be written anew.' },
    ],
    source: i % 2 ? 'forum' : 'letters',
  })),
)
const instructions = topics.flatMap((topic) =>
  tasks.flatMap(([instruction, input]) =>
    ['', ' Use at most eighty words.', ' Answer as a numbered list.'].map((style) => ({
      instruction: `${instruction}${style}`.trim() || 'Follow the input.',
      input: input(topic),
      output: 'An answer that is going to be written anew.',
    })),
  ),
)

const line = (row) => JSON.stringify(row)
const lines = (rows) => `${rows.join('\n')}\n`
/** Puts rows that can't become prompts among the others, as real sources have them. */
const spoil = (rows, bad) => {
  const spoilt = [...rows]
  for (const [i, row] of bad.entries()) spoilt.splice(Math.floor(((i + 1) * rows.length) / (bad.length + 1)), 0, row)
  return spoilt
}

writeFileSync(
  join(root, 'sources/chats.jsonl'),
  lines(
    spoil(chats.map(line), [
      '{"id":"cut off","messages":[{"role":"user","content":"This line was cut',
      line({ id: 'no user', messages: [{ role: 'system', content: 'Nobody asks anything here.' }] }),
      line({ id: 'odd role', messages: [{ role: 'narrator', content: 'Who is speaking?' }] }),
      line(chats[3]),
    ]),
  ),
)
writeFileSync(
  join(root, 'sources/shared.jsonl'),
  lines(
    spoil(shared.map(line), [
      line({ conversations: [] }),
      line({ conversations: [{ from: 'gpt', value: 'An answer without a question.' }] }),
      'not JSON at all',
      line(shared[10]),
      line(shared[11]),
    ]),
  ),
)
writeFileSync(
  join(root, 'sources/instructions.jsonl'),
  lines(
    spoil(instructions.map(line), [
      line({ output: 'An answer without an instruction.' }),
      line({ instruction: '   ', output: '' }),
    ]),
  ),
)
writeFileSync(
  join(root, 'dataset/part-00000.jsonl'),
  lines(
    [...chats.slice(0, 60), ...chats.slice(400, 440)]
      .map(({ messages }) => line({ messages }))
      .concat(
        topics.flatMap((topic) =>
          ['Why do people collect things that have to do with', 'Who first wrote about'].map((start) =>
            line({
              messages: [
                { role: 'user', content: `${start} ${topic}?` },
                { role: 'assistant', content: `A good answer about ${topic}, from an earlier run.` },
              ],
            }),
          ),
        ),
      ),
  ),
)
