/**
 * Responses, compaction: the item that asks for it, and the item that a vendor of this dialect makes. Source of the
 * format: OpenAI API reference, "Compact a response", and the types `CompactionTrigger` and `ResponseCompactionItem` of
 * openai 7.57.
 */
import type { Call } from '../../core/call.ts'
import { type JsonBody, type JsonObject, readJsonBody, splice } from '../../core/json-body.ts'
import { invalid, must, type Refusal } from '../../core/refusal.ts'
import { listOf, objectsOf, textOf } from '../request/json-members.ts'
import { type Quirks, refuseUnsupported, type Target } from '../translate/vendor-call.ts'

const TRIGGER = 'compaction_trigger'

export const isTrigger = ({ type }: JsonObject): boolean => type === TRIGGER

/** Whether the input ends with the request for a compaction; a Refusal if that is anywhere else. */
export const asksCompaction = (input: JsonObject[string]): boolean | Refusal => {
  const items = objectsOf(input)
  const at = items.findIndex(isTrigger)
  if (at < 0) return false
  if (at < items.length - 1)
    return invalid(`input[${at}].type`, `A '${TRIGGER}' must be the last item of 'input'.`)
  return at > 0 || invalid('input', `There is nothing to compact before the '${TRIGGER}'.`)
}

/** The request of /v1/responses/compact as one that ends with the trigger. */
export const withTrigger = (body: JsonBody): JsonBody => {
  const { input } = body.value
  if (input === undefined || input === null || input === '') return body
  const items =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : listOf(input)
  const asked = splice(body, { input: JSON.stringify([...items, { type: TRIGGER }]), stream: undefined })
  return must(readJsonBody(asked))
}

const MAKER = /^compaction-of-([a-z0-9-]+)\./

const contentOf = ({ type, encrypted_content }: JsonObject): string =>
  type === 'compaction' ? (textOf(encrypted_content) ?? '') : ''

/** Who made a compaction, if that is known. */
const makerOf = (item: JsonObject): string | undefined => MAKER.exec(contentOf(item))?.[1]

/** What a vendor made, with its name. */
export const withMaker = (item: JsonObject, maker: string): JsonObject =>
  item.type === 'compaction'
    ? { ...item, encrypted_content: `compaction-of-${maker}.${contentOf(item)}` }
    : item

export const hasMaker = (item: JsonObject): boolean => makerOf(item) !== undefined

/** As its maker knows it. */
export const withoutMaker = (item: JsonObject): JsonObject => ({
  ...item,
  encrypted_content: contentOf(item).replace(MAKER, ''),
})

/** The Refusal of a compaction that another vendor made. */
export const refusesMaker = ({ body }: Call, { quirks }: Target): Refusal | undefined => {
  const at = objectsOf(body.outline.input).findIndex((item) => {
    const maker = makerOf(item)
    return maker !== undefined && maker !== quirks.compacts
  })
  return at < 0 ? undefined : refuseUnsupported(`input[${at}].encrypted_content`, FOREIGN_COMPACTION)
}

/** For a vendor that cannot read one. */
export const FOREIGN_COMPACTION =
  'a compaction that another vendor made and only that vendor can read (go on with its models, or send the turns it stands for)'

/** An answer whose compaction names its maker. */
export const replyWithMaker = (reply: JsonBody, { compacts }: Quirks): JsonBody => {
  const output = objectsOf(reply.value.output)
  if (compacts === undefined || !output.some(({ type }) => type === 'compaction')) return reply
  const named = JSON.stringify(output.map((item) => withMaker(item, compacts)))
  return must(readJsonBody(splice(reply, { output: named })))
}
