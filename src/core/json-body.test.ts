/** Splicing keeps every byte that no edit touches, and gives the same result as editing the parsed object. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type JsonBody, readJsonBody, splice } from './json-body.ts'
import { Refusal } from './refusal.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const read = (text: string): JsonBody => {
  const body = readJsonBody(encode(text))
  if (body instanceof Refusal) throw new Error(body.message)
  return body
}
const codeOf = (bytes: Uint8Array) => {
  const body = readJsonBody(bytes)
  return body instanceof Refusal ? body.code : 'accepted'
}

test('an edit replaces one value and leaves all other bytes as they came', () => {
  const text = '{ "model" : "a/b", "seed": 12345678901234567890, "x": [1.0, {"model":"c"}] }'
  expect(decode(splice(read(text), { model: '"b"' }))).toBe(
    '{"model":"b","seed": 12345678901234567890, "x": [1.0, {"model":"c"}] }',
  )
})

test('names that are numbers, which objects list first, do not confuse the members', () => {
  const body = read('{"b":1,"7":2,"a":3}')
  expect(JSON.parse(decode(splice(body, { a: '4' })))).toEqual({ b: 1, '7': 2, a: 4 })
})

test('an edit adds a missing member, and removes one anywhere', () => {
  expect(decode(splice(read('{}'), { a: '1' }))).toBe('{"a":1}')
  expect(decode(splice(read('{"a":1,"b":2,"c":3}'), { a: undefined, c: undefined }))).toBe('{"b":2}')
  expect(decode(splice(read('{"a":1}'), { a: undefined }))).toBe('{}')
})

test('a name that stands twice, also spelled with escapes, is serialised again from what was validated', () => {
  const body = read('{"model":"cheap","mod\\u0065l":"dear","n":1}')
  expect(body.members).toBeUndefined()
  expect(JSON.parse(decode(splice(body, { n: '2' })))).toEqual({ model: 'dear', n: 2 })
})

test('for any object and any edits, splicing means what editing the object means', () => {
  const edit = fc.option(fc.json({ maxDepth: 2 }), { nil: undefined })
  const names = fc.constantFrom('a', 'b', 'model', '__proto__x', '')
  // Our edits use plain names; names in bodies may need escapes.
  const others = fc.constantFrom('a', 'b', 'model', 'é"\\', '__proto__x', '')
  fc.assert(
    fc.property(
      fc.dictionary(others, fc.jsonValue({ maxDepth: 4 })),
      fc.dictionary(names, edit),
      fc.constantFrom(0, 1, 2),
      (object, edits, indent) => {
        const expected: Record<string, unknown> = JSON.parse(JSON.stringify(object))
        for (const [name, value] of Object.entries(edits)) {
          if (value === undefined) delete expected[name]
          else expected[name] = JSON.parse(value)
        }
        const body = read(JSON.stringify(object, null, indent))
        expect(body.members).toBeDefined()
        expect(JSON.parse(decode(splice(body, edits)))).toEqual(expected)
      },
    ),
    { numRuns: 500 },
  )
})

test('strings of any length with quotes and backslashes do not confuse the scan', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('\\', '"', 'x'.repeat(60), '{', '}', ',', ':', 'ü'), { maxLength: 40 }),
      (parts) => {
        const value = { text: parts.join(''), model: 'm' }
        expect(JSON.parse(decode(splice(read(JSON.stringify(value)), { model: '"n"' })))).toEqual({
          ...value,
          model: 'n',
        })
      },
    ),
    { numRuns: 500 },
  )
})

test('what is not one UTF-8 JSON object of bounded depth is refused', () => {
  expect(codeOf(encode(''))).toBe('invalid_json')
  expect(codeOf(encode('{"a":1'))).toBe('invalid_json')
  expect(codeOf(encode('[1]'))).toBe('invalid_json')
  expect(codeOf(encode('null'))).toBe('invalid_json')
  expect(codeOf(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe('invalid_json')
  expect(codeOf(encode(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`))).toBe('invalid_json')
  expect(codeOf(encode(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`))).toBe('invalid_json')
  expect(codeOf(encode(`{"a":${'['.repeat(60)}${']'.repeat(60)}}`))).toBe('accepted')
})
