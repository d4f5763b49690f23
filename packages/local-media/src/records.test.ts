/** Laws of the built-in records: every accepted input has its price before it is sent, and no result costs more. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { z } from 'zod'
import type { JsonObject } from '../../../src/core/json-body.ts'
import type { Priced, Product } from '../../../src/core/model.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { modelOf } from '../../../src/media/models.ts'
import { chargeFor, rateOf } from '../../../src/pricing/charge.ts'
import { serveMedia } from '../../../src/transport/local-media/serve.ts'
import { exchange, products, recordOf } from '../../../test/local-media/ask.ts'
import { pdfOf, pdfPage, wav } from '../../../test/local-media/files.ts'
import { localMedia } from './index.ts'

const productOf = (name: string): Product => {
  const { product } = modelOf('local', recordOf(name))
  if (product === undefined) throw new Error(`${name} is no product`)
  return product
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

/** Small files behind each kind of address. */
const files: Readonly<Record<string, string>> = {
  'image/*': `data:image/png;base64,${base64(Buffer.from('not read by these laws'))}`,
  'audio/*, video/*': `data:audio/wav;base64,${base64(wav(1))}`,
  'application/pdf': `data:application/pdf;base64,${base64(pdfOf(['one', 'two', 'three'].map(pdfPage)))}`,
}

/** Values that one member's schema accepts, and some just out of bounds. */
const arbitraryOf = (schema: JsonObject): fc.Arbitrary<unknown> => {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const file = files[String(schema['x-media'])]
  if (file !== undefined) return fc.constant(file)
  if (schema.type === 'string' && typeof schema.pattern === 'string')
    return fc.stringMatching(new RegExp(schema.pattern), { maxLength: 12 })
  if (schema.type === 'string')
    return fc.string({ minLength: Number(schema.minLength ?? 0), maxLength: 60, unit: 'grapheme' })
  const [least, most] = [Number(schema.minimum), Number(schema.maximum)]
  if (schema.type === 'integer') return fc.integer({ min: least - 1, max: most + 1 })
  return fc.double({ min: least, max: most, noNaN: true })
}

/** Inputs as callers may send them, by the record's own JSON Schema; not all of them are accepted. */
const inputsOf = (name: string): fc.Arbitrary<JsonObject> => {
  const schema = z.toJSONSchema(recordOf(name).inputs, { io: 'input' })
  const members = Object.entries(schema.properties ?? {}).map(([member, one]) => [
    member,
    arbitraryOf(one as JsonObject),
  ])
  return fc.record(Object.fromEntries(members), { requiredKeys: schema.required ?? [] })
}

/** The record's example, with local files in place of those it would fetch. */
const exampleHere = (name: string): JsonObject => {
  const { example, inputs } = recordOf(name)
  const { properties = {} } = z.toJSONSchema(inputs, { io: 'input' })
  const here = ([member, value]: [string, unknown]) => [
    member,
    files[String((properties[member] as JsonObject)['x-media'])] ?? value,
  ]
  return Object.fromEntries(Object.entries(example).map(here))
}

const names = products.map(({ name }) => name)

test.each(names)(
  '%s: what is accepted has a row, whole units and rates; it is sent with its defaults',
  (name) => {
    const { price } = productOf(name)
    const { shape, inputs: checks } = recordOf(name)
    let accepted = 0
    fc.assert(
      fc.property(inputsOf(name), (given) => {
        const priced = price(given)
        expect(priced instanceof Refusal).toBe(!checks.safeParse(given).success)
        if (priced instanceof Refusal) return
        accepted++
        const { most, price: plain, inputs } = priced
        expect(chargeFor(plain, most)).toBeGreaterThan(0n)
        for (const [unit, count] of Object.entries(most)) {
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
          expect(rateOf(plain.rates, unit as keyof typeof most)).toBeGreaterThan(0)
        }
        expect(shape.ask(inputs, name, { id: 'call' }).body).toEqual({
          json: checks.parse(given) as JsonObject,
        })
      }),
      { numRuns: 200 },
    )
    expect(accepted).toBeGreaterThan(20)
  },
)

test.each(names)(
  '%s: its example is accepted, and what it does not name is refused with the name that was meant',
  (name) => {
    const { example } = recordOf(name)
    expect(productOf(name).price(example)).not.toBeInstanceOf(Refusal)
    const [first = ''] = Object.keys(example)
    expect(productOf(name).price({ ...example, [`${first}s`]: 1 })).toMatchObject({
      members: { param: `inputs.${first}s` },
      message: expect.stringContaining(`'${first}'`),
    })
    expect(z.toJSONSchema(recordOf(name).inputs, { io: 'input' }).additionalProperties).toBe(false)
  },
)

const vendor = serveMedia()

/** What the vendor counted for a call; undefined if it refused. */
const measuredBy = async (name: string, { inputs }: Priced) => {
  const { shape } = recordOf(name)
  if (shape.flow !== 'once') return undefined
  const verdict = shape.read(await exchange(vendor, shape.ask(inputs, name)), inputs)
  if (verdict === undefined) throw new Error('no verdict')
  return verdict.verdict === 'done' ? verdict.measured : undefined
}

test.each(['sketch-1', 'qr-1', 'page-text-1', 'trim-1', 'media-info-1', 'speech-1', 'pdf-text-1'])(
  '%s: what is delivered costs at most what was held',
  async (name) => {
    const { price } = productOf(name)
    let delivered = 0
    await fc.assert(
      fc.asyncProperty(inputsOf(name), async (given) => {
        // Addresses lead nowhere here, and large images only take long.
        if (given.size !== undefined && given.size !== '64x64') given = { ...given, size: '64x100' }
        if (typeof given.url === 'string' && given.url.startsWith('https:')) return
        const priced = price(given)
        if (priced instanceof Refusal) return
        const measured = await measuredBy(name, priced)
        if (measured === undefined) return
        delivered++
        expect(chargeFor(priced.price, measured)).toBeLessThanOrEqual(chargeFor(priced.price, priced.most))
        expect(Object.keys(measured).length).toBeGreaterThan(0)
      }),
      { numRuns: 25, examples: [[exampleHere(name)]] },
    )
    expect(delivered).toBeGreaterThan(0)
  },
)

test('without packages only the others are sold, and it says which are not', () => {
  const namesWith = (...has: string[]) => {
    const { products, absent } = localMedia((name) => has.includes(name))
    expect([...products, ...absent].map(({ name }) => name).sort()).toEqual([...names].sort())
    return products.map(({ name }) => name)
  }
  const bare = ['sketch-1', 'page-text-1', 'slow-1']
  expect(namesWith()).toEqual(bare)
  expect(namesWith('tesseract.js-core')).toEqual(bare)
  expect(namesWith('sharp')).toEqual([...bare, 'image-tools-1'])
})

test('docs/local-products.md has a row for each, with its price', () => {
  const page = readFileSync(new URL('../../../docs/local-products.md', import.meta.url), 'utf8')
  for (const { name, card } of products) {
    const [row] = card.rows
    const [price] = Object.values(row.rates)
    const line = page.split('\n').find((one) => one.startsWith(`| \`local/${name}\``))
    expect(line).toContain(price?.usd ?? 'no price')
  }
})

test('names are one each, and each says that it is built in', () => {
  expect(new Set(names).size).toBe(names.length)
  for (const { title, source } of products) {
    expect(title).toEndWith('(built in)')
    expect(source).toStartWith('local-')
  }
})
