/** What vendors report, and what we make of it. */
import { expect, test } from 'bun:test'
import type { JsonObject } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import { readUsage, type UsageQuirks, usageFinder } from './read-usage.ts'

const shapes: readonly (readonly [string, JsonObject, UsageQuirks, Usage | undefined])[] = [
  ['plain totals', { prompt_tokens: 10, completion_tokens: 5 }, {}, { input: 10, output: 5 }],
  [
    'input includes cache reads',
    { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 60 } },
    {},
    { input: 40, cache_read: 60, output: 5 },
  ],
  [
    'cache hits beside the totals',
    { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
    {},
    { input: 36, cache_read: 64, output: 5 },
  ],
  [
    'output includes reasoning',
    { prompt_tokens: 10, completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 40 } },
    {},
    { input: 10, output: 10, reasoning: 40 },
  ],
  [
    'reasoning apart from output',
    { prompt_tokens: 10, completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 40 } },
    { reasoningApart: true },
    { input: 10, output: 10, reasoning: 40 },
  ],
  [
    'audio on both sides',
    {
      prompt_tokens: 30,
      completion_tokens: 20,
      prompt_tokens_details: { audio_tokens: 20 },
      completion_tokens_details: { audio_tokens: 15 },
    },
    {},
    { input: 10, input_audio: 20, output: 5, output_audio: 15 },
  ],
  ['an explicit zero', { prompt_tokens: 0, completion_tokens: 0 }, {}, { input: 0 }],
  ['embeddings have no output', { prompt_tokens: 8, total_tokens: 8 }, {}, { input: 8 }],
  [
    'nulls in the details',
    {
      prompt_tokens: 3,
      completion_tokens: 4,
      prompt_tokens_details: null,
      completion_tokens_details: { reasoning_tokens: null },
    },
    {},
    { input: 3, output: 4 },
  ],
  ['nothing', {}, {}, undefined],
  ['a negative count', { prompt_tokens: -1, completion_tokens: 5 }, {}, undefined],
  ['a count in words', { prompt_tokens: '10', completion_tokens: 5 }, {}, undefined],
  ['a fraction', { prompt_tokens: 1.5, completion_tokens: 5 }, {}, undefined],
  ['an absurd count', { prompt_tokens: 1e18, completion_tokens: 5 }, {}, undefined],
  [
    'more cached than sent',
    { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 11 } },
    {},
    undefined,
  ],
  [
    'more reasoning than output',
    { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 6 } },
    {},
    undefined,
  ],
]

test.each(shapes)('usage: %s', (_what, raw, quirks, usage) => {
  expect(readUsage(raw, quirks)).toEqual(usage as never)
})

test('usage is found where the vendor puts it', () => {
  const usage = { prompt_tokens: 1 }
  expect(usageFinder({})({ usage })).toEqual(usage)
  expect(usageFinder({})({ usage: null })).toBeUndefined()
  expect(usageFinder({ usageAt: 'x_groq' })({ x_groq: { usage } })).toEqual(usage)
  expect(usageFinder({ usageAt: 'choice' })({ choices: [{ usage }] })).toEqual(usage)
  expect(usageFinder(undefined)({ choices: [] })).toBeUndefined()
})
