/** What the description of a request yields: faults, findings, ignored members, schema, and type. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { bodyOf, type JsonObject } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { chatRequest } from '../chat/request.ts'
import { geminiRequest } from '../gemini/request.ts'
import { messagesRequest } from '../messages/request.ts'
import { responsesRequest } from '../responses/request.ts'
import { embeddingsRequest } from './embeddings.ts'
import { callId } from './foreign.ts'
import {
  ignored,
  ignoredIn,
  modelName,
  needed,
  notOffered,
  object,
  type RequestOf,
  readRequest,
  request,
} from './request.ts'
import { any, flag, integer, list, number, oneOrMore, Wrong, word } from './shape.ts'

const ITEMS = () => "'items' is required."
const part = object(
  { kind: any, size: integer(1, 9), id: callId },
  { named: 'kind', place: 'part.', seen: (_part, found) => found.unknown() },
)
const described = request(
  {
    model: modelName,
    heat: number(0, 2),
    stream: flag,
    pace: ignored(word(['slow', 'fast']), 'slow'),
    ...notOffered(
      ['search'],
      (value) => value === false,
      (name) => `'${name}' is not sold.`,
    ),
    items: needed(list(object({ parts: list(part) }), { say: ITEMS }), ITEMS),
  },
  {
    rule: ({ heat, stream }) =>
      heat === 2 && stream === true ? new Wrong((name) => `'${name}' is too hot.`).under('heat') : undefined,
  },
)
const good = { model: 'a/b', items: [{ parts: [{ kind: 'x' }] }] }

const refusalOf = (value: JsonObject, shape: Parameters<typeof readRequest>[0] = described) => {
  const found = readRequest(shape, value)
  return found instanceof Refusal ? [found.members.param, found.message] : undefined
}

const faults: readonly (readonly [JsonObject, string, string])[] = [
  [{ ...good, model: '' }, 'model', "'model' is required"],
  [{ ...good, Heat: null }, 'Heat', "'Heat' is written 'heat'."],
  [{ ...good, heat: 3 }, 'heat', "'heat' must be a number from 0 to 2."],
  [{ ...good, pace: 'none' }, 'pace', "'pace' must be one of 'slow', 'fast'."],
  [{ ...good, Search: true }, 'Search', "'Search' is not sold."],
  [{ ...good, items: null }, 'items', "'items' is required."],
  [{ ...good, items: [{}, 1] }, 'items[1]', "'items[1]' must be an object."],
  [
    { ...good, items: [{ parts: [{ kind: 'x' }, { kind: '' }] }] },
    'items[0].parts[1].kind',
    "'items[0].parts[1]' must be an object with a non-empty string 'kind'.",
  ],
  [
    { ...good, items: [{ parts: [{ kind: 'x', size: 10 }] }] },
    'items[0].parts[0].size',
    "'items[0].parts[0].size' must be an integer from 1 to 9.",
  ],
  [{ ...good, heat: 2, stream: true }, 'heat', "'heat' is too hot."],
]

test.each(faults)('%j is refused at %s', (value, param, message) => {
  const [at, said] = refusalOf(value) ?? []
  expect([at, String(said).startsWith(message)]).toEqual([param, true])
})

test('of several faults the refusal names the first in the description, in whatever order they were sent', () => {
  const wrong = { items: 1, search: {}, pace: 'x', stream: 1, heat: 'x', model: 'a/b' }
  fc.assert(
    fc.property(fc.shuffledSubarray(Object.entries(wrong), { minLength: 6 }), (members) => {
      expect(refusalOf(Object.fromEntries(members))?.[0]).toBe('heat')
    }),
  )
})

test('null is absent, and what is not described is not looked at', () => {
  expect(refusalOf({ ...good, heat: null, search: null, other: { heat: 9 } })).toBeUndefined()
})

test('one walk finds marks of other vendors and media at any depth', () => {
  const found = readRequest(described, { ...good, items: [{ parts: [{ kind: 'x', id: 'call__sig_AAAA' }] }] })
  if (found instanceof Refusal) throw new Error(found.message)
  expect([found.foreign, found.sizeOf(bodyOf(good)).unbounded]).toEqual([true, true])
  const none = readRequest(described, { ...good, items: [] })
  if (none instanceof Refusal) throw new Error(none.message)
  expect([none.foreign, none.sizeOf(bodyOf(good)).unbounded]).toEqual([false, undefined])
})

test('members that reach no other dialect are named once, by their places', () => {
  const value = {
    ...good,
    pace: 'fast',
    other: 1,
    nothing: null,
    items: [
      {
        parts: [
          { kind: 'x', size: 1, hue: 2 },
          { kind: 'y', hue: 3 },
        ],
      },
    ],
  }
  const shape = request({ ...{ model: modelName, pace: ignored(any, 'slow') }, items: list(part) })
  expect(ignoredIn(shape, { ...value, items: value.items[0]?.parts })).toEqual(['pace', 'other', 'part.hue'])
  expect(ignoredIn(shape, { model: 'a/b', pace: 'slow' })).toEqual([])
})

test('a member in both spellings is refused by itself, and in either it is the same one', () => {
  const inner = object({ topSize: integer(1) }, { spelled: true, place: 'inner.' })
  const either = request({ theItems: oneOrMore(inner, list(inner)) }, { spelled: true })
  expect(refusalOf({ theItems: { topSize: 1, top_size: 1 } }, either)?.[0]).toBe('top_size')
  expect(refusalOf({ the_items: [{ top_size: 0 }] }, either)?.[0]).toBe('theItems[0].topSize')
  expect(refusalOf({ the_items: { top_size: 1 } }, either)).toBeUndefined()
  expect(ignoredIn(either, { the_items: { top_hue: 1, top_size: 1 } })).toEqual(['inner.topHue'])
})

test('the schema offers what is described, and nothing that is not sold', () => {
  expect(described.schema).toMatchObject({
    properties: { heat: { type: 'number', minimum: 0, maximum: 2 }, pace: { enum: ['slow', 'fast'] } },
    required: ['model', 'items'],
    additionalProperties: true,
  })
  expect(Object.keys(described.schema?.properties ?? {})).not.toContain('search')
})

test('the type of a request is the one that its description checks', () => {
  const read = ({ model, heat, pace }: RequestOf<typeof described>): readonly [string, number, string] => [
    model,
    heat ?? 1,
    pace ?? 'slow',
  ]
  expect(read({ ...good, heat: null })).toEqual(['a/b', 1, 'slow'])
  // @ts-expect-error A member that is not described cannot be read.
  const other = ({ hue }: RequestOf<typeof described>) => hue
  expect(other({ model: 'a/b', items: [] })).toBeUndefined()
})

test.each([
  ['chat', chatRequest, 'Messages'],
  ['messages', messagesRequest, 'System'],
  ['responses', responsesRequest, 'Input'],
  ['embeddings', embeddingsRequest, 'Input'],
  ['gemini', geminiRequest, 'generation_config'],
] as const)(
  '%s: a checked member by another name is not taken for an unknown one',
  (_dialect, shape, name) => {
    const whole = {
      model: 'a/b',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'x' }],
      input: 'x',
      generationConfig: {},
    }
    expect(refusalOf({ ...whole, contents: { parts: [] }, [name]: {} }, shape)?.[0]).toBe(name)
  },
)
