/** Every shape in which vendors report usage, whole and streamed, against bills computed by hand. */

import { expect, test } from 'bun:test'
import { messageItem, response } from '../../test/dialects/responses-vendor.ts'
import { context, type SharedDialectId } from '../../test/dialects/steps.ts'
import type { Price } from '../core/model.ts'
import type { Usage } from '../core/usage.ts'
import { chargeFor } from '../pricing/charge.ts'
import type { VendorTraits } from './dialect.ts'
import { vendorDialects } from './index.ts'

/** Pico-USD a token; each class has another price, so that every mix-up of classes shows. */
const price: Price = {
  rates: {
    input: 1_000_000,
    cache_read: 100_000,
    cache_write: 1_250_000,
    cache_write_1h: 2_000_000,
    input_audio: 3_000_000,
    cache_read_audio: 300_000,
    output: 10_000_000,
    reasoning: 12_000_000,
    output_audio: 20_000_000,
    output_image: 30_000_000,
  },
  tiers: [
    { aboveInputTokens: 200_000, rates: { input: 2_000_000, cache_read: 200_000, output: 15_000_000 } },
  ],
  version: 'test',
}

type BillCase = readonly [
  dialect: SharedDialectId,
  what: string,
  raw: Readonly<Record<string, unknown>>,
  usage: Usage,
  nano: bigint,
  quirks?: Partial<VendorTraits>,
]

const modality = (name: string, tokenCount: number) => ({ modality: name, tokenCount })

const rows: readonly BillCase[] = [
  // Chat completions: both totals include everything.
  // 100 × 1 000 + 20 × 10 000
  [
    'chat',
    'plain totals',
    { prompt_tokens: 100, completion_tokens: 20 },
    { input: 100, output: 20 },
    300_000n,
  ],
  [
    'chat',
    'cached input within the total',
    { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 } },
    { input: 40, cache_read: 60, output: 20 },
    // 40 × 1 000 + 60 × 100 + 20 × 10 000
    246_000n,
  ],
  [
    'chat',
    'cache hits and misses beside the total',
    { prompt_tokens: 100, completion_tokens: 20, prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 },
    { input: 40, cache_read: 60, output: 20 },
    246_000n,
  ],
  [
    'chat',
    'cache written, within the total',
    {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 50 },
    },
    { input: 40, cache_read: 10, cache_write: 50, output: 20 },
    // 40 × 1 000 + 10 × 100 + 50 × 1 250 + 20 × 10 000
    303_500n,
  ],
  [
    'chat',
    'reasoning within the output',
    { prompt_tokens: 100, completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 30 } },
    { input: 100, output: 20, reasoning: 30 },
    // 100 × 1 000 + 20 × 10 000 + 30 × 12 000
    660_000n,
  ],
  [
    'chat',
    'reasoning apart from the output',
    { prompt_tokens: 100, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 30 } },
    { input: 100, output: 20, reasoning: 30 },
    660_000n,
    { reasoningApart: true },
  ],
  [
    'chat',
    'audio on both sides',
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { audio_tokens: 80 },
      completion_tokens_details: { audio_tokens: 40 },
    },
    { input: 20, input_audio: 80, output: 10, output_audio: 40 },
    // 20 × 1 000 + 80 × 3 000 + 10 × 10 000 + 40 × 20 000
    1_160_000n,
  ],
  [
    'chat',
    'a long input, priced by its tier as a whole',
    { prompt_tokens: 200_001, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 1 } },
    { input: 200_000, cache_read: 1, output: 10 },
    // 200 000 × 2 000 + 1 × 200 + 10 × 15 000
    400_150_200n,
  ],
  // Messages: the input's counts exclude each other; thinking is part of the output.
  ['messages', 'plain', { input_tokens: 100, output_tokens: 20 }, { input: 100, output: 20 }, 300_000n],
  [
    'messages',
    'cache read and written beside the input',
    { input_tokens: 40, cache_read_input_tokens: 60, cache_creation_input_tokens: 50, output_tokens: 20 },
    { input: 40, cache_read: 60, cache_write: 50, output: 20 },
    // 40 × 1 000 + 60 × 100 + 50 × 1 250 + 20 × 10 000
    308_500n,
  ],
  [
    'messages',
    'written for five minutes and for an hour',
    {
      input_tokens: 40,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 50,
      cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 20 },
      output_tokens: 20,
    },
    { input: 40, cache_write: 30, cache_write_1h: 20, output: 20 },
    // 40 × 1 000 + 30 × 1 250 + 20 × 2 000 + 20 × 10 000
    317_500n,
  ],
  [
    'messages',
    'written, told by duration alone',
    {
      input_tokens: 40,
      cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 20 },
      output_tokens: 20,
    },
    { input: 40, cache_write: 30, cache_write_1h: 20, output: 20 },
    317_500n,
  ],
  [
    'messages',
    'the tier is reached by what was cached',
    { input_tokens: 1, cache_read_input_tokens: 200_000, output_tokens: 10 },
    { input: 1, cache_read: 200_000, output: 10 },
    // 1 × 2 000 + 200 000 × 200 + 10 × 15 000
    40_152_000n,
  ],
  // Generate content: the prompt includes cached tokens; candidates exclude thoughts.
  [
    'gemini',
    'plain',
    { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
    { input: 100, output: 20 },
    300_000n,
  ],
  [
    'gemini',
    'cached within the prompt, thoughts beside the candidates',
    {
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      totalTokenCount: 150,
    },
    { input: 40, cache_read: 60, output: 20, reasoning: 30 },
    // 40 × 1 000 + 60 × 100 + 20 × 10 000 + 30 × 12 000
    606_000n,
  ],
  [
    'gemini',
    'thoughts alone',
    { promptTokenCount: 100, thoughtsTokenCount: 30, totalTokenCount: 130 },
    { input: 100, reasoning: 30 },
    // 100 × 1 000 + 30 × 12 000
    460_000n,
  ],
  [
    'gemini',
    "the prompts of a tool that ran beside the caller's",
    { promptTokenCount: 100, toolUsePromptTokenCount: 25, candidatesTokenCount: 20, totalTokenCount: 145 },
    { input: 125, output: 20 },
    // 125 × 1 000 + 20 × 10 000
    325_000n,
  ],
  [
    'gemini',
    'audio in, partly cached',
    {
      promptTokenCount: 100,
      promptTokensDetails: [modality('TEXT', 20), modality('AUDIO', 80)],
      cachedContentTokenCount: 30,
      cacheTokensDetails: [modality('AUDIO', 30)],
      candidatesTokenCount: 20,
    },
    { input: 20, input_audio: 50, cache_read_audio: 30, output: 20 },
    // 20 × 1 000 + 50 × 3 000 + 30 × 300 + 20 × 10 000
    379_000n,
  ],
  [
    'gemini',
    'pictures and sound within the candidates',
    {
      promptTokenCount: 100,
      candidatesTokenCount: 60,
      candidatesTokensDetails: [modality('TEXT', 10), modality('IMAGE', 30), modality('AUDIO', 20)],
    },
    { input: 100, output: 10, output_image: 30, output_audio: 20 },
    // 100 × 1 000 + 10 × 10 000 + 30 × 30 000 + 20 × 20 000
    1_500_000n,
  ],
  [
    'messages',
    'thoughts within the output',
    { input_tokens: 100, output_tokens: 20, output_tokens_details: { thinking_tokens: 5 } },
    { input: 100, output: 15, reasoning: 5 },
    // 100 × 1 000 + 15 × 10 000 + 5 × 12 000
    310_000n,
  ],
  [
    'responses',
    'cached, written and reasoning tokens within the totals',
    {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    },
    { input: 30, cache_read: 60, cache_write: 10, output: 15, reasoning: 5 },
    // 30 × 1 000 + 60 × 100 + 10 × 1 250 + 15 × 10 000 + 5 × 12 000
    258_500n,
  ],
  [
    'responses',
    'plain totals',
    { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
    { input: 100, output: 20 },
    300_000n,
  ],
  [
    'interactions',
    'thoughts beside the output, and cached sound',
    {
      total_input_tokens: 100,
      total_cached_tokens: 30,
      cached_tokens_by_modality: [
        { modality: 'text', tokens: 20 },
        { modality: 'audio', tokens: 10 },
      ],
      input_tokens_by_modality: [{ modality: 'audio', tokens: 40 }],
      total_tool_use_tokens: 5,
      total_output_tokens: 20,
      total_thought_tokens: 30,
      total_tokens: 155,
    },
    { input: 45, cache_read: 20, cache_read_audio: 10, input_audio: 30, output: 20, reasoning: 30 },
    // 45 × 1 000 + 20 × 100 + 10 × 300 + 30 × 3 000 + 20 × 10 000 + 30 × 12 000
    700_000n,
  ],
  [
    'interactions',
    'pictures and sound in the output',
    {
      total_input_tokens: 100,
      total_output_tokens: 60,
      output_tokens_by_modality: [
        { modality: 'image', tokens: 30 },
        { modality: 'audio', tokens: 10 },
      ],
    },
    { input: 100, output: 20, output_image: 30, output_audio: 10 },
    // 100 × 1 000 + 20 × 10 000 + 30 × 30 000 + 10 × 20 000
    1_400_000n,
  ],
]

const answer = (dialect: SharedDialectId, raw: object): object =>
  ({
    chat: { choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }], usage: raw },
    messages: { content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn', usage: raw },
    gemini: {
      candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
      usageMetadata: raw,
    },
    responses: response([messageItem('x')], { usage: raw }),
    interactions: {
      status: 'completed',
      steps: [{ type: 'model_output', content: [{ type: 'text', text: 'x' }] }],
      usage: raw,
    },
  })[dialect]

/** The last events of a stream; messages report the input first and the output last. */
const events = (dialect: SharedDialectId, raw: Readonly<Record<string, unknown>>): readonly object[] => {
  const { output_tokens, ...first } = raw
  return {
    chat: [
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'c', choices: [], usage: raw },
    ],
    messages: [
      { type: 'message_start', message: { id: 'm', usage: { ...first, output_tokens: 1 } } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens } },
    ],
    gemini: [
      {
        candidates: [{ content: { parts: [{ text: 'x' }] } }],
        usageMetadata: { promptTokenCount: raw.promptTokenCount, candidatesTokenCount: 1 },
      },
      { candidates: [{ finishReason: 'STOP' }], usageMetadata: raw },
    ],
    responses: [{ type: 'response.completed', response: response([messageItem('x')], { usage: raw }) }],
    interactions: [
      { event_type: 'interaction.created', interaction: { id: '', status: 'in_progress' } },
      { event_type: 'interaction.completed', interaction: { id: '', status: 'completed', usage: raw } },
    ],
  }[dialect]
}

const quirks: VendorTraits = { outputBound: 'max_tokens', takesStreamOptions: true }

test.each(rows.map((row) => [row[0], row[1], row] as const))(
  '%s, %s: the bill is the one computed by hand',
  (dialect, _what, row) => {
    const [, , raw, usage, nano, own] = row

    const vendor = vendorDialects[dialect]
    const traits = { ...quirks, ...own }
    const whole = vendor.usageOf(JSON.parse(JSON.stringify(answer(dialect, raw))), traits)
    expect(whole).toEqual(usage)
    expect(chargeFor(price, usage)).toBe(nano)
    const relay = vendor.pass!.relay(traits, false, 'm', () => context())
    const read = vendor.streamReader(() => 'new', traits)
    const steps = events(dialect, raw).flatMap((event) => {
      const data = JSON.stringify(event)
      relay.follow({ bytes: new TextEncoder().encode(`data: ${data}\n\n`), data })
      return read(data)
    })
    expect(relay.usage()).toEqual(usage)
    expect(steps.findLast((step) => step.type === 'usage')).toEqual({ type: 'usage', usage })
  },
)

const absurd: readonly (readonly [SharedDialectId, object])[] = [
  ['chat', { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 11 } }],
  ['messages', { input_tokens: -1, output_tokens: 5 }],
  ['messages', { input_tokens: 1.5, output_tokens: 5 }],
  [
    'messages',
    { input_tokens: 1, cache_creation_input_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: 2 } },
  ],
  ['messages', { output_tokens: 5 }],
  ['gemini', { promptTokenCount: 10, cachedContentTokenCount: 11 }],
  ['gemini', { promptTokenCount: 1e18 }],
  ['gemini', { candidatesTokenCount: 5 }],
  ['responses', { input_tokens: 10, output_tokens: 5, input_tokens_details: { cached_tokens: 11 } }],
  ['responses', { input_tokens: 10, output_tokens: 5, output_tokens_details: { reasoning_tokens: 6 } }],
  ['responses', { output_tokens: 5 }],
  ['interactions', { total_input_tokens: 10, total_cached_tokens: 11 }],
  ['interactions', { total_input_tokens: 1e18 }],
  ['interactions', { total_output_tokens: 5 }],
]

test.each(absurd)('%s: %o is no usage', (dialect, raw) => {
  expect(
    vendorDialects[dialect].usageOf(JSON.parse(JSON.stringify(answer(dialect, raw))), quirks),
  ).toBeUndefined()
})
