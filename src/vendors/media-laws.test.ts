/** Laws that hold for each image product, with inputs made from its own schema. */
import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'
import { encodeOutgoing } from '../media/encode.ts'
import { modelOf } from '../media/models.ts'
import { chargeFor } from '../pricing/charge.ts'
import { vendors } from './index.ts'

/** The same numbers in each run. */
const numbersFrom = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

type Schema = Exclude<Parameters<typeof z.fromJSONSchema>[0], boolean>

const integerOf = (
  { minimum = 0, maximum = 1_000, multipleOf = 1 }: Schema,
  random: () => number,
): number => {
  const steps = Math.floor((Number(maximum) - Number(minimum)) / Number(multipleOf))
  return Number(minimum) + Math.floor(random() * (steps + 1)) * Number(multipleOf)
}

/** The smallest possible image, for inputs that take one. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=='

const valueBy = (schema: Schema, random: () => number): Json => {
  if (schema['x-media'] !== undefined) return PIXEL
  if (schema.type === 'array') {
    const [least, most] = [Number(schema.minItems ?? 0), Number(schema.maxItems ?? 4)]
    const length = least + Math.floor(random() * (most - least + 1))
    return Array.from({ length }, () => valueBy(schema.items as Schema, random))
  }
  if (Array.isArray(schema.enum)) return schema.enum[Math.floor(random() * schema.enum.length)] as Json
  if (schema.const !== undefined) return schema.const as Json
  if (schema.type === 'integer') return integerOf(schema, random)
  if (schema.type === 'boolean') return random() < 0.5
  if (schema.type === 'number') return Number(schema.minimum ?? 0)
  const letters = Math.min(Number(schema.maxLength ?? 100), 1 + Math.floor(random() * 300))
  return 'añ狐🦊'.repeat(letters).slice(0, letters)
}

/** Inputs that the schema accepts, with some of the optional ones. */
const inputsBy = (schema: z.ZodObject, example: JsonObject, random: () => number): JsonObject => {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' }) as Schema
  const entries = Object.entries(properties).filter(([name]) => required.includes(name) || random() < 0.5)
  const named = new Set(entries.map(([name]) => name))
  // Drops inputs that only go together with others, or not together with them.
  const fits = (name: string) =>
    (name === 'mask') === named.has('image') || !['mask', 'moderation'].includes(name)
  return Object.fromEntries(
    entries
      .filter(([name]) => fits(name))
      .map(([name, of]) => [
        name,
        isObject(of) && typeof of.pattern === 'string' && of['x-media'] === undefined
          ? example[name]
          : valueBy(of as Schema, random),
      ]),
  )
}

const products = vendors.flatMap((vendor) =>
  (vendor.media?.models ?? [])
    .filter(({ category, shape }) => category === 'image' && shape.flow === 'once')
    .map((record) => ({ id: `${vendor.id}/${record.name}`, record, model: modelOf(vendor.id, record) })),
)

/** Answers with more than was requested, in every form that image vendors answer in. */
const generous = (): JsonObject => {
  const picture = { b64_json: 'AAAA', url: 'https://example.com/a.png' }
  return {
    data: Array.from({ length: 20 }, () => picture),
    usage: { cost_in_usd_ticks: 1 },
    candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } }],
  }
}

describe.each(products)('$id', ({ record, model }) => {
  const random = numbersFrom(record.name.length)
  const calls = Array.from({ length: 60 }, () => {
    const given = inputsBy(record.inputs, record.example, random)
    const priced = model.product?.price(given)
    if (priced === undefined || priced instanceof Refusal)
      throw new Error(`${JSON.stringify(given)} is refused: ${priced?.message}`)
    return { given, ...priced }
  })

  test('every accepted input has a price, and its bound costs something', () => {
    for (const { price, most } of calls) expect(chargeFor(price, most)).toBeGreaterThan(0n)
  })

  test('what is counted in pictures costs no more than was held, whatever comes', () => {
    const { shape } = record
    if (shape.flow !== 'once') throw new Error('a job')
    for (const { inputs, price, most } of calls) {
      const bytes = new TextEncoder().encode('png')
      for (const type of ['application/json', 'image/png']) {
        const header = (name: string) => (name === 'content-type' ? type : undefined)
        const verdict = shape.read({ status: 200, header, bytes, json: generous() }, inputs)
        if (verdict?.verdict !== 'done') continue
        expect(chargeFor(price, verdict.measured ?? most)).toBeLessThanOrEqual(chargeFor(price, most))
      }
    }
  })

  test('each default is sent, so that the vendor’s own default changes nothing', () => {
    for (const { given, inputs } of calls) {
      const { body } = encodeOutgoing(
        record.shape.ask(inputs, record.upstreamName ?? record.name, { id: 'call' }),
        'b',
      )
      const text = new TextDecoder().decode(body)
      for (const [name, value] of Object.entries(inputs))
        if (given[name] === undefined)
          expect([text.includes(String(value)), text.includes(String(value).replace(':', 'x'))]).toContain(
            true,
          )
    }
  })

  test('an unknown input is refused', () => {
    const refusal = model.product?.price({ ...record.example, callback: 'https://example.com/' })
    expect(refusal).toMatchObject({ code: 'invalid_parameter', members: { param: 'inputs.callback' } })
  })
})

/** Tokens as each vendor reports them, from what the call was counted as. */
const reported = (id: string, it: Usage, thought: number): JsonObject => {
  const { input = 0, input_image: seen = 0, output = 0, output_image: made = 0 } = it
  const picture = { b64_json: 'AAAA' }
  if (id.startsWith('openai/'))
    return {
      data: [picture],
      usage: {
        input_tokens: input + seen,
        input_tokens_details: { text_tokens: input, image_tokens: seen },
        output_tokens: output + made,
        output_tokens_details: { text_tokens: output, image_tokens: made },
      },
    }
  return {
    candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: made + output - thought,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: made }],
      thoughtsTokenCount: thought,
    },
  }
}

const byTokens = products.filter(({ record }) => record.card.most.output_image !== undefined)

test('pictures that are priced by tokens are those of OpenAI and Google', () => {
  expect(byTokens.length).toBeGreaterThan(4)
  for (const { id } of byTokens) expect(id).toMatch(/^(openai|google)\//)
})

test.each(byTokens)(
  '$id: what is reported within the bound is charged within it, and all of it is all',
  (one) => {
    const { id, record, model } = one
    const { shape } = record
    if (shape.flow !== 'once') throw new Error('a job')
    const random = numbersFrom(id.length)
    for (let time = 0; time < 200; time++) {
      const priced = model.product?.price(inputsBy(record.inputs, record.example, random))
      if (priced === undefined || priced instanceof Refusal) throw new Error('its own inputs are refused')
      const { inputs, price, most } = priced
      const bound = chargeFor(price, most)
      const chargeOf = (it: Usage): bigint => {
        const thought = Math.floor(random() * (it.output ?? 0))
        const answer = { status: 200, header: () => undefined, bytes: new Uint8Array() }
        const verdict = shape.read({ ...answer, json: reported(id, it, thought) }, inputs)
        if (verdict?.verdict !== 'done' || verdict.measured === undefined)
          throw new Error('it is not counted')
        return chargeFor(price, verdict.measured)
      }
      expect(chargeOf(most)).toBe(bound)
      const part = (count = 0) => Math.floor(random() * (count + 1))
      const { input, input_image: seen, output, output_image: made } = most
      const less = {
        input: part(input),
        input_image: part(seen),
        output: part(output),
        output_image: part(made),
      }
      expect(chargeOf(less)).toBeLessThanOrEqual(bound)
    }
  },
)

test('the price examples of vendors’ own guides are within the bounds, and not far below them', () => {
  const examples: readonly (readonly [string, JsonObject, bigint])[] = [
    ['openai/gpt-image-2', { size: '1024x1024', quality: 'low' }, 6n],
    ['openai/gpt-image-2', { size: '1024x1024', quality: 'medium' }, 53n],
    ['openai/gpt-image-2', { size: '1024x1024', quality: 'high' }, 211n],
    ['openai/gpt-image-2', { size: '1536x1024', quality: 'high' }, 165n],
    ['openai/gpt-image-1.5', { size: '1024x1024', quality: 'high' }, 133n],
    ['openai/gpt-image-1.5', { size: '1024x1536', quality: 'medium' }, 51n],
    ['openai/gpt-image-1-mini', { size: '1024x1536', quality: 'high' }, 52n],
    ['google/gemini-3.1-flash-image', { image_size: '1K' }, 67n],
    ['google/gemini-3.1-flash-image', { image_size: '2K' }, 100n],
    ['google/gemini-3.1-flash-image', { image_size: '4K' }, 151n],
    ['google/gemini-3-pro-image', { image_size: '2K' }, 134n],
    ['google/gemini-3-pro-image', { image_size: '4K' }, 240n],
  ]
  for (const [id, inputs, mills] of examples) {
    const priced = products.find((one) => one.id === id)?.model.product?.price({ prompt: 'a', ...inputs })
    if (priced === undefined || priced instanceof Refusal) throw new Error(id)
    const { output_image: picture = 0 } = priced.most
    const charge = chargeFor(priced.price, { output_image: picture })
    expect([id, charge >= mills * 1_000_000n, charge <= mills * 1_000_000n + 2_000_000n]).toEqual([
      id,
      true,
      true,
    ])
  }
})
