/** An outlined body behaves like any other: its meaning, what is sent on and what is refused stay the same. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Json, type JsonBody, readJsonBody, splice } from './json-body.ts'
import { Refusal } from './refusal.ts'
import { scanJson } from './scan-json.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const read = (text: string): JsonBody => {
  const body = readJsonBody(encode(text))
  if (body instanceof Refusal) throw new Error(body.message)
  return body
}
const LONG = 'a long text, "quoted", with \\ and é '.repeat(800)

/** The value with its texts cut as an outline cuts them; other long texts stay. */
const cut = (value: Json | undefined, name = '', within = false): Json | undefined => {
  if (typeof value === 'string') return within && words.has(name) && isLong(value) ? '…' : value
  if (Array.isArray(value)) return value.map((one) => cut(one, '', within) as Json)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cut(one as Json, key, within)]))
}
const words = new Set(['text', 'content', 'output', 'arguments'])
const isLong = (text: string) => encode(JSON.stringify(text)).length - 1 > 1024

const pieces = fc.constantFrom('\\', '"', ':', '"content":"', '\n', 'é', '😀', '\ud800', 'x'.repeat(400))
const texts = fc
  .tuple(fc.array(pieces, { maxLength: 6 }), fc.constantFrom('', 'y'.repeat(1_500)))
  .map(([parts, more]) => parts.join('') + more)
const names = fc.constantFrom(
  'text',
  'content',
  'output',
  'arguments',
  'te\\xt',
  'a"content',
  'data',
  'url',
  'role',
)
const { value: values } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    texts,
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))
const members = fc.constantFrom('messages', 'contents', 'input', 'system', 'tools', 'text', 'messages2')

test('an outline has all but the long texts of conversations, and the body still means what it says', () => {
  let outlined = 0
  fc.assert(
    fc.property(
      fc.dictionary(members, values, { minKeys: 2 }),
      fc.constantFrom(0, 1, 2),
      (object, indent) => {
        const whole = { model: 'm', ...object, padding: 'x'.repeat(17_000) }
        const text = JSON.stringify(whole, null, indent)
        const body = read(text)
        const expected = Object.fromEntries(
          Object.entries(JSON.parse(text) as Record<string, Json>).map(([name, value]) => [
            name,
            ['messages', 'contents', 'input', 'system'].includes(name) && typeof value === 'object'
              ? cut(value, name, true)
              : value,
          ]),
        )
        expect(body.outline).toEqual(expected as never)
        expect(body.value).toEqual(JSON.parse(text))
        const sent = new TextDecoder().decode(splice(body, { model: '"other"' }))
        expect(JSON.parse(sent)).toEqual({ ...JSON.parse(text), model: 'other' })
        if (scanJson(encode(text)).texts.length > 0) outlined++
      },
    ),
    { numRuns: 400 },
  )
  expect(outlined).toBeGreaterThan(50)
})

test('a body whose long text is read by nobody is passed on to the byte', () => {
  const text = `{ "messages" : [ { "role":"user", "content" : ${JSON.stringify(LONG)} } ], "model":"a/b","n":1e0 }`
  const body = read(text)
  expect(body.outline).toEqual({ messages: [{ role: 'user', content: '…' }], model: 'a/b', n: 1 })
  expect(new TextDecoder().decode(splice(body, { model: '"b"' }))).toBe(
    text.replace(' "model":"a/b"', '"model":"b"').replace('{ "messages"', '{"messages"'),
  )
})

test('what is no JSON, or no UTF-8, is refused beside a long text and within it', () => {
  const whole = JSON.stringify({ messages: [{ role: 'user', content: LONG }], model: 'a/b' })
  const codeOf = (bytes: Uint8Array) => {
    const body = readJsonBody(bytes)
    return body instanceof Refusal ? body.code : 'accepted'
  }
  expect(codeOf(encode(whole))).toBe('accepted')
  for (const broken of [
    whole.slice(0, -1),
    whole.slice(0, 9_000),
    `${whole}}`,
    whole.replace('"model":', '"model"'),
    whole.replace('[{', '[{,'),
  ])
    expect(codeOf(encode(broken))).toBe('invalid_json')
  const bytes = encode(whole)
  bytes[5_000] = 0xff
  expect(codeOf(bytes)).toBe('invalid_json')
  expect(codeOf(encode(`\ufeff${whole}`))).toBe('accepted')
})

test('a long text that JSON would not write so is refused by who reads it', () => {
  const text = JSON.stringify({ messages: [{ content: LONG }] }).replace('a long', 'a\nlong')
  const body = read(text)
  expect(body.outline.messages).toEqual([{ content: '…' }])
  expect(() => body.value).toThrow('The body is not valid JSON.')
})
