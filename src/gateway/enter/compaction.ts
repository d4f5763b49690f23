/**
 * Summaries that were made here. A client carries them back as sealed items, and each request that has one is completed
 * before anything else reads it: the model gets the summary in the place of what it stands for, whatever its vendor
 * speaks. An item opens for the key and model that it was made for, and for nobody else.
 */
import { randomBytes } from 'node:crypto'
import { type Json, type JsonBody, splice } from '../../core/json-body.ts'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { sealed, unsealed } from '../../core/sealed.ts'
import { listOf, objectOf, textOf } from '../../dialects/request/json-members.ts'
import { isTrigger } from '../../dialects/responses/compaction.ts'
import { asTold } from '../../dialects/translate/compaction.ts'
import { nameFor } from '../../tenancy/aliases.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { readWeighed, takeBytes } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { tooLong } from './socket-turn.ts'

const MARK = 'turnpike-compaction-1.'

/** Whom a summary is for: a key (all values of a rotated one), and the model by its id. */
type For = { readonly key: Key; readonly modelName: string }

const purposeOf = ({ offering }: Gateway, { key, modelName }: For): string => {
  const model = offering.catalogue.find(nameFor(key, modelName))
  return `compaction for ${placeOf(key)} by ${model?.id ?? modelName}`
}

const secretOf = (hash: KeyedHash): Uint8Array =>
  Buffer.from(hash('turnpike: the secret that seals compactions'), 'hex')

/** The summary as the client gets it. */
export const sealSummary = (gateway: Gateway, owner: For, summary: string): string =>
  MARK + sealed(Buffer.from(summary), purposeOf(gateway, owner), secretOf(gateway.hash), randomBytes(12))

const openSummary = (gateway: Gateway, owner: For, text: string): string | undefined => {
  const { hash } = gateway
  const purpose = purposeOf(gateway, owner)
  const content = text.slice(MARK.length)
  const opened =
    unsealed(content, purpose, secretOf(hash)) ??
    (hash.before === undefined ? undefined : unsealed(content, purpose, secretOf(hash.before)))
  return opened?.toString('utf8')
}

const ofType = (item: Json, type: string): boolean => objectOf(item).type === type

const itemsIn = ({ outline }: JsonBody): number => (Array.isArray(outline.input) ? outline.input.length : 1)

/**
 * The request with each of our summaries in its place; `sent` is what came, without the items of earlier answers. Throws
 * the Refusal of an item that does not open.
 */
export const withSummaries = (
  gateway: Gateway,
  { key, trace }: { readonly key: Key; readonly trace: Pick<Trace, 'taken'> },
  body: JsonBody,
  sent = body,
): JsonBody => {
  if (!listOf(body.outline.input).some((item) => ofType(item, 'compaction'))) return body
  const { input, model } = body.value
  const owner = { key, modelName: textOf(model) ?? '' }
  const before = itemsIn(body) - itemsIn(sent)
  const earlier = (sent.outline.conversation ?? null) === null ? 'previous_response_id' : 'conversation'
  const opened = listOf(input).map((item, index): Json => {
    const content = textOf(objectOf(item).encrypted_content) ?? ''
    if (!ofType(item, 'compaction') || !content.startsWith(MARK)) return item
    const summary = openSummary(gateway, owner, content)
    if (summary === undefined)
      throw doesNotOpen(index < before ? earlier : `input[${index - before}].encrypted_content`)
    return { type: 'message', role: 'user', content: [{ type: 'input_text', text: asTold(summary) }] }
  })
  const last = listOf(input).findLastIndex((item) => ofType(item, 'compaction'))
  const trigger = opened.slice(0, last).findLastIndex((item) => isTrigger(objectOf(item)))
  const left = [...opened.slice(0, trigger + 1).filter(isStanding), ...opened.slice(trigger + 1)]
  const bytes = splice(body, { input: JSON.stringify(left) })
  if (bytes.length > gateway.options.bodyBytesMax) throw tooLong()
  takeBytes(gateway.capacity, trace.taken, bytes.length)
  return readWeighed(gateway.capacity, trace.taken, bytes)
}

/**
 * What was compacted stays in a conversation that is continued by the id of a response. Of that, only the orders of the
 * system are left: the summary says the rest. Clients that send all items themselves leave out what they no longer want.
 */
const isStanding = (item: Json): boolean => /^(?:system|developer)$/.test(textOf(objectOf(item).role) ?? '')

/** Whoever has no key is nobody in particular, so nothing can be made for them alone. */
export const compactsForNobody = (): Refusal =>
  invalid('input', 'A compaction is made for a key: a call without one cannot ask for it.')

const doesNotOpen = (param: string) =>
  invalid(
    param,
    `'${param}' holds a compaction that was not made for this key and this model, or that was changed. Go on with the ` +
      'key and model that made it, or send the turns it stands for in its place.',
  )
