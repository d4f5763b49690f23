/** Laws of every record that is asked in one exchange and is not an image. */
import { expect, test } from 'bun:test'
import { checked, recordOf, sentOf, sold, unpriced, verdictOf } from '../../test/vendor-media.ts'
import { Refusal } from '../core/refusal.ts'
import { readInputs } from '../media/inputs.ts'
import { modelOf } from '../media/models.ts'
import type { MediaModel, UnpricedModel } from '../media/product.ts'
import { mostUnits, ratesFor } from '../media/rate-card.ts'
import type { Inputs } from '../media/shape.ts'
import { chargeFor } from '../pricing/charge.ts'
import { EXAMPLE_SOUND } from './openai/transcription.ts'

const all = [...sold, ...unpriced].filter(
  ([, { shape, category }]) => shape.flow === 'once' && category !== 'image',
)
const cardOf = (record: MediaModel | UnpricedModel): MediaModel['card'] =>
  'card' in record ? record.card : { rows: [{ rates: {} }], most: record.most }

/** Inputs that only change what the caller gets, or that are read here. */
const OURS = ['timestamps', 'task', 'file', 'document']

/** The example, and variants of it with each choice of each input. */
const inputsFor = (record: MediaModel | UnpricedModel): Inputs[] => {
  const example = record.inputs.parse(record.example) as Inputs
  const choices = Object.entries(record.inputs.shape).flatMap(([name, schema]) => {
    let at = schema as { def: { innerType?: unknown }; options?: readonly unknown[] }
    while (at.def.innerType !== undefined) at = at.def.innerType as typeof at
    const options = (at.options ?? []).filter((one) => typeof one === 'string')
    return options.map((one) => ({ ...example, [name]: one }) as Inputs)
  })
  return [example, ...choices]
}

test.each(all)(
  '%s: every accepted input has a price and a whole bound, and defaults are sent',
  (id, record) => {
    for (const inputs of inputsFor(record)) {
      expect(readInputs(record, inputs)).not.toBeInstanceOf(Refusal)
      const [rates, most] = [ratesFor(cardOf(record), inputs), mostUnits(cardOf(record), inputs)]
      for (const count of Object.values(most)) expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
      if ('card' in record) for (const unit of Object.keys(rates)) expect(Object.keys(most)).toContain(unit)
      const sent = JSON.stringify(sentOf(id, inputs))
      for (const [name, value] of Object.entries(inputs))
        if (typeof value === 'string' && !OURS.includes(name))
          expect(sent).toContain(JSON.stringify(value).slice(1, -1))
    }
  },
)

test.each(all)('%s: what it does not name is refused', (_id, record) => {
  const refused = readInputs(record, { ...record.example, callback_url: 'https://example.com' })
  expect(refused).toBeInstanceOf(Refusal)
})

test.each([...sold].filter(([id]) => all.some(([one]) => one === id)))(
  '%s: the model has the price of its example',
  (id, record) => {
    const { product } = modelOf(id.split('/')[0] ?? '', record)
    const priced = product?.price(record.example)
    expect(priced).not.toBeInstanceOf(Refusal)
  },
)

test('ids are unique', () => {
  expect(new Set(all.map(([id]) => id)).size).toBe(all.length)
})

test('the example is as long as its RIFF header says', () => {
  const bytes = Buffer.from(EXAMPLE_SOUND.slice(EXAMPLE_SOUND.indexOf(',') + 1), 'base64')
  expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8)
})

const wav = (seconds: number): string => {
  const bytes = Buffer.from(EXAMPLE_SOUND.slice(EXAMPLE_SOUND.indexOf(',') + 1), 'base64')
  const silence = Buffer.alloc(seconds * 8_000, 128)
  return `data:audio/wav;base64,${Buffer.concat([bytes.subarray(0, 44), silence]).toString('base64')}`
}

/** The most that a vendor may honestly count for these inputs. */
const honest: [string, Inputs, object][] = [
  ['openai/whisper-1', { file: wav(61) }, { text: '', usage: { type: 'duration', seconds: 62 } }],
  ['openai/gpt-transcribe', { file: wav(1) }, { text: '', usage: { type: 'duration', seconds: 2 } }],
  [
    'openai/gpt-4o-transcribe',
    { file: wav(60) },
    { text: '', usage: { type: 'tokens', input_tokens: 600, output_tokens: 400 } },
  ],
  ['groq/whisper-large-v3', { file: wav(1) }, { text: '', duration: 1 }],
  ['groq/whisper-large-v3', { file: wav(30) }, { text: '', duration: 30.02 }],
  [
    'deepgram/nova-3',
    { file: wav(30), language: 'multi' },
    { metadata: { duration: 30.02 }, results: { channels: [{ alternatives: [{ transcript: '' }] }] } },
  ],
  ['exa/search', { query: 'x', numResults: 25 }, { results: [], costDollars: { total: 0.022 } }],
  ['tavily/search', { query: 'x', search_depth: 'advanced' }, { results: [], usage: { credits: 2 } }],
  [
    'mistral/ocr',
    { document: 'data:image/png;base64,AA' },
    { pages: [{}], usage_info: { pages_processed: 1 } },
  ],
]

test.each(honest)('%s: what is measured is charged within the bound', (id, given, json) => {
  const record = recordOf(id)
  const inputs = checked(id, given)
  const verdict = verdictOf(id, inputs, { json })
  if (verdict?.verdict !== 'done' || verdict.measured === undefined) throw new Error('nothing was measured')
  // What the vendor bills in money is not the caller's price.
  expect(JSON.stringify([verdict.body, verdict.outputs])).not.toMatch(/usd|dollar/i)
  const price = { rates: ratesFor(cardOf(record), inputs), tiers: [], version: '' }
  const charge = chargeFor(price, verdict.measured)
  expect(charge).toBeGreaterThan(0n)
  expect(charge).toBeLessThanOrEqual(chargeFor(price, mostUnits(cardOf(record), inputs)))
})
