/** Laws of every vendor's records, with inputs made from the record's own schema and slightly outside it. */
import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { inputsBy, numbersFrom, spoilt, writtenSchema } from '../../test/schema-inputs.ts'
import { doneOf, jobOf } from '../../test/vendor-jobs.ts'
import { sold, unpriced } from '../../test/vendor-media.ts'
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { readInputs } from '../media/inputs.ts'
import type { MediaModel, UnpricedModel } from '../media/product.ts'
import { askedUnits, mostUnits, ratesFor } from '../media/rate-card.ts'
import { chargeFor } from '../pricing/charge.ts'

type AnyRecord = MediaModel | UnpricedModel

const records: readonly (readonly [string, AnyRecord])[] = [...sold, ...unpriced]
const jobs = records.filter(([, { shape }]) => shape.flow === 'job')

const cardOf = (record: AnyRecord): MediaModel['card'] =>
  'card' in record ? record.card : { rows: [{ rates: {} }], most: record.most }

const RUNS = 25

/** Inputs that a record accepts; combinations that it excludes are left out. */
const acceptedBy = (record: AnyRecord): readonly JsonObject[] => {
  const random = numbersFrom(record.name.length)
  const made = Array.from({ length: RUNS }, () => inputsBy(record, random))
  return [record.example, ...made].flatMap((given) => {
    const inputs = readInputs(record, given)
    return inputs instanceof Refusal ? [] : [inputs]
  })
}

const isCustom = ({ code }: { readonly code: string }): boolean => code === 'custom'

test.each(records)('%s: what its JSON Schema says is what is checked', (_id, record) => {
  const written = z.fromJSONSchema(writtenSchema(record) as Parameters<typeof z.fromJSONSchema>[0])
  const random = numbersFrom(record.title.length)
  const given: Json[] = Array.from({ length: RUNS }, () => inputsBy(record, random))
  for (const one of [record.example, ...given, ...given.map((inputs) => spoilt(inputs, random))]) {
    const checked = record.inputs.safeParse(one)
    const bySchema = written.safeParse(one).success
    // JSON Schema cannot express combinations of inputs, nor which addresses are public.
    if (!checked.success && checked.error.issues.every(isCustom)) continue
    expect([one, bySchema]).toEqual([one, checked.success])
  }
})

test.each(records)('%s: every accepted input has one price and a whole bound', (_id, record) => {
  const accepted = acceptedBy(record)
  expect(accepted.length).toBeGreaterThan(0)
  for (const inputs of accepted) {
    const rates = ratesFor(cardOf(record), inputs)
    const most = mostUnits(cardOf(record), inputs)
    for (const count of Object.values(most)) expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
    // OpenAI has a price for input images, but we do not take them.
    for (const unit of Object.keys(rates))
      if (unit !== 'input_image') expect(Object.keys(most)).toContain(unit)
    if ('card' in record && Object.keys(rates).length > 0)
      expect(chargeFor({ rates, tiers: [], version: '' }, most)).toBeGreaterThan(0n)
  }
})

/** Every name and text in a value, at any depth. */
const leaves = (value: Json | undefined): readonly Json[] => {
  if (Array.isArray(value)) return value.flatMap(leaves)
  if (isObject(value)) return Object.values(value).flatMap(leaves)
  return value === undefined ? [] : [value]
}

/** Inputs that decide what the caller gets, or how the answer is read. */
const OURS = ['timestamps', 'file', 'image', 'input_image']

test.each(jobs)('%s: what is submitted holds all that was asked, and every default', (id, record) => {
  const { shape } = record
  if (shape.flow !== 'job') throw new Error(id)
  for (const inputs of acceptedBy(record)) {
    const { body } = shape.ask(inputs, record.upstreamName ?? record.name, { id: 'run_1' })
    const sent =
      body === undefined || 'raw' in body
        ? ''
        : 'json' in body
          ? JSON.stringify(body.json)
          : JSON.stringify(body.form.map((part) => ('text' in part ? part.text : part.filename)))
    for (const [name, value] of Object.entries(inputs)) {
      if (OURS.includes(name) || sent === '') continue
      for (const leaf of leaves(value))
        expect(sent).toContain(typeof leaf === 'string' ? JSON.stringify(leaf).slice(1, -1) : String(leaf))
    }
  }
})

test.each(jobs)('%s: has a pace and an end, and forgets what was asked', (id, record) => {
  const shape = jobOf(id)
  expect(shape.everyMs).toBeGreaterThanOrEqual(1_000)
  expect(shape.deadlineMs).toBeGreaterThanOrEqual(shape.everyMs * 10)
  expect(record.description).toMatch(/\.$/)
  // A vendor without cancel bills what was begun, unless it says otherwise.
  if (shape.cancel === undefined) expect(shape.onCancel).toBe('billed')
  const card = 'card' in record ? record.card : record
  for (const inputs of acceptedBy(record)) {
    const [asked, most] = [askedUnits(card, inputs) ?? {}, mostUnits(card, inputs)]
    for (const [unit, count] of Object.entries(asked))
      expect(count).toBeLessThanOrEqual(most[unit as keyof typeof most] ?? 0)
  }
})

const film = 'https://cdn.example.com/film.mp4'

/** The most a vendor may honestly count for these inputs: the end of a job, with its reference and step. */
const honest: readonly (readonly [
  id: string,
  inputs: JsonObject,
  ref: JsonObject,
  end: JsonObject,
  header?: string,
])[] = [
  [
    'bfl/flux-2-pro',
    { prompt: 'a', width: 2_048, height: 2_048 },
    { megapixels: 4 },
    { status: 'Ready', result: { sample: film } },
  ],
  [
    'runway/gen4.5',
    { promptText: 'a', duration: 10 },
    {},
    { status: 'SUCCEEDED', cost: { credits: 120 }, output: [film] },
  ],
  [
    'runway/gen4_image',
    { promptText: 'a', ratio: '1920:1080' },
    {},
    { status: 'SUCCEEDED', cost: { credits: 8 }, output: [film] },
  ],
  ['luma/ray-3.2', { prompt: 'a', hdr: true }, {}, { state: 'completed', output: [{ url: film }] }],
  [
    'xai/grok-imagine-video-1.5',
    { prompt: 'a', image: 'https://example.com/a.png', duration: 15 },
    { pictures: 1 },
    { status: 'done', video: { url: film, duration: 15 } },
  ],
  [
    'bytedance/seedance-2.0',
    { prompt: 'a', duration: 5 },
    {},
    { status: 'succeeded', content: { video_url: film }, usage: { completion_tokens: 108_900 } },
  ],
  [
    'bytedance/seedance-2.0',
    { prompt: 'a', ratio: '4:3', duration: 4 },
    {},
    {
      status: 'succeeded',
      content: { video_url: film },
      usage: { completion_tokens: Math.ceil((1_112 * 834 * 97) / 1_024) },
    },
  ],
  [
    'bytedance/seedance-1.0-pro',
    { prompt: 'a', resolution: '1080p', duration: 5 },
    {},
    { status: 'succeeded', content: { video_url: film }, usage: { completion_tokens: 246_840 } },
  ],
  [
    'bytedance/seedance-1.0-pro',
    { prompt: 'a', resolution: '480p', duration: 5 },
    {},
    { status: 'succeeded', content: { video_url: film }, usage: { completion_tokens: 49_005 } },
  ],
  [
    'google/gemini-omni-1.1-flash',
    { prompt: 'a', duration: 10 },
    {},
    {
      status: 'completed',
      steps: [{ type: 'model_output', content: [{ type: 'video', uri: film }] }],
      usage: {
        total_input_tokens: 30,
        total_output_tokens: 58_400,
        total_thought_tokens: 900,
        output_tokens_by_modality: [{ modality: 'video', tokens: 57_949 }],
      },
    },
  ],
  [
    'fal/fal-ai/kling-video/v3/standard/text-to-video',
    { prompt: 'a', duration: '5' },
    {},
    { video: { url: film } },
    '5',
  ],
  ['fal/fal-ai/flux-1/schnell', { prompt: 'a', num_images: 4 }, {}, { images: [{ url: film }] }, '4.194304'],
  [
    'replicate/black-forest-labs/flux-dev',
    { prompt: 'a', num_outputs: 4 },
    {},
    { status: 'succeeded', output: [film, film, film, film] },
  ],
  [
    'shotstack/render',
    { timeline: { tracks: [{ clips: [{ asset: { type: 'title', text: 'a' }, start: 1, length: 2 }] }] } },
    {},
    { response: { status: 'done', url: film, duration: 3 } },
  ],
  ['minimax/MiniMax-Hailuo-2.3', { prompt: 'a', resolution: '1080P' }, {}, { file: { download_url: film } }],
]

test.each(honest.map(([id, inputs, ref, end, units]) => [id, inputs, ref, end, units ?? ''] as const))(
  '%s: what is measured is charged within the bound, and not far below it',
  (id, given, ref, json, units) => {
    const record = sold.get(id)
    if (record === undefined) throw new Error(id)
    const inputs = readInputs(record, given)
    if (inputs instanceof Refusal) throw inputs
    const step = units !== '' || 'file' in json ? 1 : 0
    const headers: Record<string, string> = units === '' ? {} : { 'x-fal-billable-units': units }
    const { measured } = doneOf(id, ref, { json, headers }, step)
    const price = { rates: ratesFor(record.card, inputs), tiers: [], version: '' }
    const [charge, bound] = [
      chargeFor(price, measured ?? {}),
      chargeFor(price, mostUnits(record.card, inputs)),
    ]
    expect(charge).toBeGreaterThan(bound / 2n)
    expect(charge).toBeLessThanOrEqual(bound)
    // What a cancelled job costs: no more than a finished one.
    const asked = askedUnits(record.card, inputs)
    if (asked !== undefined) expect(chargeFor(price, asked)).toBeLessThanOrEqual(charge)
  },
)

describe('names', () => {
  const slugOf = (id: string): string => id.replaceAll(/[/.]/g, '-').toLowerCase()
  test('ids and slugs are unique', () => {
    expect(new Set(records.map(([id]) => id)).size).toBe(records.length)
    expect(new Set(records.map(([id]) => slugOf(id))).size).toBe(records.length)
  })
  test('each has a title, a source and an example that it accepts', () => {
    for (const [id, record] of records) {
      expect([id, record.title.length > 0 && record.source.length > 0]).toEqual([id, true])
      expect([id, readInputs(record, record.example)]).not.toEqual([id, expect.any(Refusal)])
    }
  })
})

test('addresses that lead inwards are refused, at any depth', () => {
  const inward = [
    'https://127.0.0.1/a.png',
    'https://[::ffff:127.0.0.1]/a.png',
    'https://169.254.169.254/latest',
    'https://2130706433/a.png',
    'https://localhost/a.png',
    'https://user:key@example.com/a.png',
    'https://example.com:8080/a.png',
    'http://example.com/a.png',
    'file:///etc/passwd',
  ]
  const clip = (src: string) => ({
    timeline: { tracks: [{ clips: [{ asset: { type: 'image', src }, start: 0, length: 1 }] }] },
  })
  const element = (source: string) => ({ elements: [{ type: 'image', source }] })
  for (const address of inward) {
    const rows: readonly (readonly [string, JsonObject])[] = [
      ['shotstack/render', clip(address)],
      ['creatomate/render', element(address)],
      ['runway/gen4_turbo', { promptImage: address }],
      ['fal/fal-ai/flux-pro/kontext', { prompt: 'a', image_url: address }],
      ['bytedance/seedance-2.0', { prompt: 'a', image: address }],
      ['xai/grok-imagine-video', { prompt: 'a', image: address }],
    ]
    for (const [id, inputs] of rows) {
      const record = sold.get(id) ?? unpriced.get(id)
      if (record === undefined) throw new Error(id)
      expect([id, address, readInputs(record, inputs)]).toEqual([id, address, expect.any(Refusal)])
    }
  }
})
