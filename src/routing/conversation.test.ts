/** A conversation keeps its name while turns are added, and its key while keys come, rest and go. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import '../../test/seed.ts'
import { bodyOf, type JsonObject, readJsonBody } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { must } from '../core/refusal.ts'
import { Secret } from '../core/secret.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { conversationOf } from './conversation.ts'
import { deploymentsOf, newTraffic, noteFailure, orderOf } from './deployments.ts'

const dialects = ['chat', 'messages', 'responses', 'gemini'] as const
type Dialect = (typeof dialects)[number]

const members: Readonly<Record<Dialect, readonly [before: string, turns: string]>> = {
  chat: ['', 'messages'],
  messages: ['system', 'messages'],
  responses: ['instructions', 'input'],
  gemini: ['systemInstruction', 'contents'],
}

type Talk = { readonly system: string; readonly turns: readonly string[] }

const requestOf = (dialect: Dialect, { system, turns }: Talk, more: JsonObject = {}): JsonObject => {
  const [before, name] = members[dialect]
  const said = turns.map((text, at) => {
    const role = at % 2 === 0 ? 'user' : dialect === 'gemini' ? 'model' : 'assistant'
    return dialect === 'gemini' ? { role, parts: [{ text }] } : { role, content: text }
  })
  const first = dialect === 'chat' ? [{ role: 'system', content: system }] : []
  return {
    model: 'm',
    ...(before === '' ? {} : { [before]: dialect === 'gemini' ? { parts: [{ text: system }] } : system }),
    [name]: [...first, ...said],
    ...more,
  }
}

const sent = (request: JsonObject, spaces?: number) =>
  must(readJsonBody(new TextEncoder().encode(JSON.stringify(request, null, spaces))))

const nameOf = (dialect: Dialect, request: JsonObject, session?: string, keyId = 'k') =>
  conversationOf({ dialect, kind: 'chat', body: sent(request) }, { keyId, session })

const words = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ minLength: 1_000, maxLength: 3_000 }),
  fc.constantFrom('"}],{"role":"user"', '\\', '},{', ''),
)
const talk = fc.record({ system: words, turns: fc.array(words, { minLength: 1, maxLength: 6 }) })

test('a conversation has one name while turns are added, and another first turn is another conversation', () => {
  fc.assert(
    fc.property(fc.constantFrom(...dialects), talk, words, (dialect, it, other) => {
      const name = nameOf(dialect, requestOf(dialect, { ...it, turns: it.turns.slice(0, 1) }))
      expect(name).toBeDefined()
      const later = requestOf(dialect, it)
      const as = { dialect, kind: 'chat' } as const
      // Also where the server put the conversation together, and in whatever way its client writes JSON.
      for (const body of [sent(later), bodyOf(later), sent(later, 1)])
        expect(conversationOf({ ...as, body }, { keyId: 'k', session: undefined })).toBe(name)
      if (other === it.turns[0]) return
      expect(nameOf(dialect, requestOf(dialect, { ...it, turns: [other, ...it.turns.slice(1)] }))).not.toBe(
        name,
      )
    }),
  )
})

/** As clients mark their last turn for the vendor's cache: in blocks, of which the last has the mark. */
const marked = (request: JsonObject): JsonObject => {
  const turns = request.messages as readonly JsonObject[]
  const last = { type: 'text', text: turns.at(-1)?.content, cache_control: { type: 'ephemeral', ttl: '1h' } }
  return { ...request, messages: [...turns.slice(0, -1), { content: [last], role: turns.at(-1)?.role }] }
}

test('a mark for the cache that moves on with the last turn leaves the name of a conversation', () => {
  fc.assert(
    fc.property(fc.constantFrom('chat', 'messages'), talk, (dialect, it) => {
      const all = it.turns.map((_turn, at) =>
        nameOf(dialect, marked(requestOf(dialect, { ...it, turns: it.turns.slice(0, at + 1) }))),
      )
      expect(new Set(all).size).toBe(1)
    }),
  )
})

test('what the caller says names it, whatever its turns are; other keys have names of their own', () => {
  const one = requestOf('responses', { system: 's', turns: ['a'] }, { prompt_cache_key: 'session 1' })
  const compacted = requestOf(
    'responses',
    { system: 's', turns: ['summary'] },
    { prompt_cache_key: 'session 1' },
  )
  expect(nameOf('responses', one)).toBe(nameOf('responses', compacted))
  expect(nameOf('responses', one, undefined, 'other')).not.toBe(nameOf('responses', one))
  const talkOf = (text: string) => requestOf('messages', { system: 's', turns: [text] })
  expect(nameOf('messages', talkOf('a'), 'x')).toBe(nameOf('messages', talkOf('b'), 'x'))
  const by = (user: string) => ({ ...talkOf('a'), metadata: { user_id: user } })
  expect(nameOf('messages', by('u1'))).not.toBe(nameOf('messages', by('u2')))
})

test('calls that are no conversation have no name', () => {
  const body = bodyOf({ model: 'm', input: 'x' })
  expect(
    conversationOf({ dialect: 'embeddings', kind: 'embeddings', body }, { keyId: 'k', session: 's' }),
  ).toBeUndefined()
})

const model = { id: 'v/m' } as Model
const keysOf = (count: number) => Array.from({ length: count }, (_key, at) => `key ${at}`)
const placesFor = (keys: readonly string[], weights?: readonly number[]) =>
  deploymentsOf(
    {
      vendor: { id: 'v' } as VendorSetup['vendor'],
      baseUrl: 'http://v.invalid',
      secrets: keys.map((key) => new Secret(key)),
      ...(weights === undefined ? {} : { weights }),
    } as VendorSetup,
    model,
  )
const firstOf = (places: ReturnType<typeof placesFor>, conversation: string, traffic = newTraffic()) =>
  orderOf(places, traffic, { nowMs: 0, random: Math.random, conversation })[0]?.secret?.reveal()
const talks = Array.from({ length: 30_000 }, (_talk, at) => `conversation ${at}`)

test.each([3, 10, 30])(
  '%i keys share the conversations by weight, in any order and in every process',
  (count) => {
    const keys = keysOf(count)
    const weights = keys.map((_key, at) => 1 + (at % 3))
    const places = placesFor(keys, weights)
    const shares = new Map<string | undefined, number>()
    for (const talk of talks) {
      const key = firstOf(places, talk)
      shares.set(key, (shares.get(key) ?? 0) + 1)
    }
    const sum = weights.reduce((all, weight) => all + weight, 0)
    for (const [at, key] of keys.entries())
      expect((shares.get(key) ?? 0) / talks.length / ((weights[at] ?? 0) / sum)).toBeWithin(0.85, 1.15)
    const reversed = placesFor(keys.toReversed(), weights.toReversed())
    for (const talk of talks.slice(0, 500)) expect(firstOf(reversed, talk)).toBe(firstOf(places, talk))
  },
)

test('a key that rests or is taken away moves only its own conversations, and they come back', () => {
  const keys = keysOf(10)
  const places = placesFor(keys)
  const traffic = newTraffic()
  const resting = places[4]
  if (resting === undefined) throw new Error('there are ten')
  noteFailure(traffic, resting, { scope: 'key', nowMs: 0, restMs: 1_000 })
  const fewer = placesFor(keys.filter((key) => key !== 'key 4'))
  for (const talk of talks.slice(0, 2_000)) {
    const before = firstOf(places, talk)
    if (before === 'key 4') continue
    expect([firstOf(places, talk, traffic), firstOf(fewer, talk)]).toEqual([before, before])
  }
})
