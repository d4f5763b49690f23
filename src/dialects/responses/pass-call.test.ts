/** Callers of responses to vendors of responses: whatever they send passes unchanged, whether we know it or not. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { context } from '../../../test/dialects/steps.ts'
import { testModel } from '../../../test/server/harness.ts'
import { type JsonObject, readJsonBody } from '../../core/json-body.ts'
import { must, Refusal } from '../../core/refusal.ts'
import { codecFor } from '../call-codec.ts'
import { decodeResponsesCall } from './call.ts'

const traits = { outputBound: 'max_tokens', takesStreamOptions: true, speaks: 'responses' } as const

const sentOn = (text: string): string => {
  const call = must(decodeResponsesCall(must(readJsonBody(new TextEncoder().encode(text)))))
  const codec = codecFor({
    call,
    target: { model: testModel('m'), quirks: traits, outputBound: undefined, stream: false },
    traits,
    context: () => context(),
  })
  if (codec instanceof Refusal) throw codec
  expect(codec.notCarried).toEqual([])
  return new TextDecoder().decode(codec.body)
}

/** Values in spellings that no JSON writer of ours produces. */
const spelled = fc.constantFrom(
  '1.50',
  '1e2',
  '"\\u0041"',
  '[ 1,2 ]',
  '{"b":1, "a":{"c":0.10}}',
  'null',
  'true',
)
const word = fc.stringMatching(/^[a-z]{3,8}_next_year$/)
const member = fc.tuple(word, spelled).map(([name, value]) => `"${name}":${value}`)
const members = fc.uniqueArray(member, { maxLength: 3, selector: (one) => one.split(':')[0] })

const item = fc.oneof(
  fc.tuple(word, members).map(([type, more]) => `{${[`"type":"${type}"`, ...more].join(', ')}}`),
  members.map((more) => `{${['"role":"user"', '"content":"hi"', ...more].join(',')}}`),
  members.map(
    (more) =>
      `{${['"type":"additional_tools"', '"role":"developer"', '"tools":[{"type":"custom","name":"x"}]', ...more].join(',')}}`,
  ),
  members.map(
    (more) => `{${['"type":"reasoning"', '"summary":[]', '"encrypted_content":"gAAAA"', ...more].join(',')}}`,
  ),
)
const tool = fc.tuple(
  fc.constantFrom('function', 'custom', 'namespace', 'tool_search', 'apply_patch'),
  members,
)

test('a request of anything goes through to the byte but for the model', () => {
  fc.assert(
    fc.property(
      fc.array(item, { minLength: 1, maxLength: 4 }),
      fc.array(tool, { maxLength: 3 }),
      members,
      (items, tools, more) => {
        const rest = [
          `"input":[${items.join(' , ')}]`,
          `"tools":[${tools.map(([type, own]) => `{${[`"type":"${type}"`, ...own].join(',')}}`).join(',')}]`,
          '"store": false',
          ...more,
        ].join(', ')
        expect(sentOn(`{"model":"a/b",${rest}}`)).toBe(`{"model":"m",${rest}}`)
      },
    ),
    { numRuns: 300 },
  )
})

test('what is left out leaves the members around it as they came', () => {
  const text = '{"a":1.50,"model":"a/b","store":true,"tools":[{"type":"mcp"}],"input":"hi","z":[ 2 ]}'
  const call = must(decodeResponsesCall(must(readJsonBody(new TextEncoder().encode(text)))))
  const target = { model: testModel('m'), quirks: traits, outputBound: 20, stream: false }
  const codec = codecFor({ call, target, traits, context: () => context() })
  if (codec instanceof Refusal) throw codec
  expect(new TextDecoder().decode(codec.body)).toBe(
    '{"a":1.50,"model":"m","store":false,"input":"hi","z":[ 2 ],"max_output_tokens":20}',
  )
  expect(codec.notCarried).toEqual(['tools mcp'])
})

test('thinking that is off is said to the models that know the word', () => {
  const bodyFor = (more: object): JsonObject => {
    const text =
      '{"model":"a/b","max_tokens":99,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"hi"}]}'
    const body = must(readJsonBody(new TextEncoder().encode(text)))
    const size = { textBytes: 0, images: 0, audioBytes: 0 }
    const call = { dialect: 'messages', modelName: 'a/b', body, stream: false, choices: 1, size } as never
    const model = testModel('m', { capabilities: ['reasoning'], ...more })
    const target = { model, quirks: traits, outputBound: undefined, stream: false }
    const codec = codecFor({ call, target, traits, context: () => context() })
    if (codec instanceof Refusal) throw codec
    return JSON.parse(new TextDecoder().decode(codec.body))
  }
  expect(bodyFor({}).reasoning).toBeUndefined()
  expect(bodyFor({ requestStyle: { in: 'responses', chatTools: 'effort_none' } }).reasoning).toEqual({
    effort: 'none',
  })
})
