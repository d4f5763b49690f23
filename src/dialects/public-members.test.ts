/**
 * The law of translation: a member that a caller sends either changes what the vendor gets, or is named to the caller,
 * or is refused by name. It is tested for every public member of every caller dialect, against vendors of every other
 * dialect.
 */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { type CallerId, callerIds } from '../../test/dialects/clients.ts'
import { codecOf } from '../../test/dialects/codecs.ts'
import { publicDialects } from '../../test/dialects/public-members.ts'
import type { PublicSchema } from '../../test/dialects/public-schema.ts'
import { bodyOf, isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { decodeChatCall } from './chat/call.ts'
import { decodeCohereCall } from './cohere/call.ts'
import { decodeGeminiCall } from './gemini/call.ts'
import { decodeInteractionsCall } from './interactions/call.ts'
import { decodeMessagesCall } from './messages/call.ts'
import { decodeOllamaChat } from './ollama/call.ts'
import { decodeResponsesCall } from './responses/call.ts'

const decoders = {
  chat: decodeChatCall,
  messages: decodeMessagesCall,
  responses: decodeResponsesCall,
  interactions: decodeInteractionsCall,
  cohere: decodeCohereCall,
  ollama: decodeOllamaChat,
  gemini: (body: ReturnType<typeof bodyOf>) =>
    decodeGeminiCall(body, { modelName: 'a/b', stream: false, listed: false }),
} as const

const at = (value: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (one, name) => (Array.isArray(one) ? one[Number(name)] : isObject(one) ? one[name] : undefined),
    value,
  )

/** The request with a member at a path; missing objects on the way are made. */
const withMember = (value: Json | undefined, path: readonly string[], member: Json): Json => {
  const [name = '', ...rest] = path
  if (path.length === 0) return member
  if (Array.isArray(value)) return value.with(Number(name), withMember(value[Number(name)], rest, member))
  const inner = isObject(value) ? value : {}
  return { ...inner, [name]: withMember(inner[name], rest, member) }
}

const pathOf = ({ at }: PublicSchema): readonly string[] => (at === '' ? [] : at.split('.'))

/** Members of a declaration. */
const declaredIn = ({ file, name }: PublicSchema): readonly string[] => {
  const lines = readFileSync(new URL(`../../node_modules/${file}`, import.meta.url), 'utf8').split('\n')
  const start = lines.findIndex((line) =>
    new RegExp(`^(?:export )?(?:declare )?(?:interface|class|type) ${name}\\b`).test(line),
  )
  expect([name, start >= 0]).toEqual([name, true])
  const end = lines.findIndex((line, index) => index > start && line.startsWith('}'))
  return lines
    .slice(start, end)
    .flatMap((line) => /^ {4}'?([\w-]+)'?\??:/.exec(line)?.[1] ?? [])
    .map((name) => (file.startsWith('cohere') ? snakeCase(name) : name))
}

/** Cohere's library spells names otherwise than its requests. */
const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const cases = callerIds.flatMap((caller) =>
  publicDialects[caller].schemas.map((schema) => [caller, schema.name, schema] as const),
)

test.each(cases)(
  '%s: every member of %s that its library declares is in the list',
  (caller, _name, schema) => {
    const { request, own } = publicDialects[caller]
    const there = at(request as Json, pathOf(schema))
    const known = new Set([...Object.keys(schema.samples), ...(isObject(there) ? Object.keys(there) : [])])
    const prefix = schema.at === '' ? '' : `${schema.at}.`
    const missing = declaredIn(schema).filter((name) => !known.has(name) && !own.includes(prefix + name))
    expect(missing).toEqual([])
  },
)

/** What became of a member; undefined when it is gone and nobody was told. */
const fateOf = (
  caller: CallerId,
  vendor: (typeof vendors)[number],
  request: JsonObject,
): string | undefined => {
  const call = decoders[caller](bodyOf(request))
  const codec = call instanceof Refusal ? call : codecOf(caller, vendor, request)
  if (codec instanceof Refusal) return typeof codec.members.param === 'string' ? 'refused' : undefined
  if (!(call instanceof Refusal) && call.tier !== undefined) return 'chooses the model'
  const without = codecOf(caller, vendor, publicDialects[caller].request)
  if (without instanceof Refusal) throw new Error(without.message)
  if (codec.notCarried.some((one) => !without.notCarried.includes(one))) return 'named'
  return new TextDecoder().decode(codec.body) === new TextDecoder().decode(without.body) ? undefined : 'sent'
}

const vendors = ['chat', 'messages', 'gemini', 'converse', 'responses', 'interactions'] as const
const pairs = callerIds.flatMap((caller) =>
  vendors.filter((vendor) => vendor !== caller).map((vendor) => [caller, vendor] as const),
)

test.each(pairs)('%s to %s: no public member is left out unnamed', (caller, vendor) => {
  const { request, schemas } = publicDialects[caller]
  const missed = schemas.flatMap((schema) =>
    Object.entries(schema.samples).flatMap(([name, value]) => {
      const path = [...pathOf(schema), name]
      const changed = withMember(request as Json, path, value as Json)
      return fateOf(caller, vendor, changed as JsonObject) === undefined ? [path.join('.')] : []
    }),
  )
  expect(missed).toEqual([])
})
