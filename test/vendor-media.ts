/** Vendors' products that are not chat, for tests: a record by its id, and the meaning of its vendor's answers. */
import { expect, test } from 'bun:test'
import { parseJson } from '../src/core/json-body.ts'
import { readInputs } from '../src/media/inputs.ts'
import { type MediaModel, type UnpricedModel, unpricedOf } from '../src/media/product.ts'
import type { Inputs, OnceShape, Outgoing, VendorAnswer, Verdict } from '../src/media/shape.ts'
import { judgeVendorError } from '../src/routing/vendor-errors.ts'
import { vendors } from '../src/vendors/index.ts'

export type Reply = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON; or bytes as they are; or a text. */
  readonly json?: unknown
  readonly bytes?: Uint8Array
  readonly text?: string
}

export type ReplyCase = readonly [what: string, reply: Reply, expected: string | object]

export type ProductCases = {
  readonly id: string
  readonly inputs: Inputs
  /** What must be sent; forms as lists of names and texts. */
  readonly sent: object
  readonly replies: readonly ReplyCase[]
}

export const sold: ReadonlyMap<string, MediaModel> = new Map(
  vendors.flatMap(({ id, media }) => (media?.models ?? []).map((one) => [`${id}/${one.name}`, one] as const)),
)

export const unpriced: ReadonlyMap<string, UnpricedModel> = new Map(
  vendors.flatMap(({ id, media }) =>
    (media === undefined ? [] : unpricedOf(media)).map((one) => [`${id}/${one.name}`, one] as const),
  ),
)

export const recordOf = (id: string): MediaModel | UnpricedModel => {
  const found = sold.get(id) ?? unpriced.get(id)
  if (found === undefined) throw new Error(`no record ${id}`)
  return found
}

export const onceOf = (id: string): OnceShape => {
  const { shape } = recordOf(id)
  if (shape.flow !== 'once') throw new Error(`${id} is a job`)
  return shape
}

export const checked = (id: string, inputs: Inputs): Inputs => {
  const read = readInputs(recordOf(id), inputs)
  if (read instanceof Error) throw read
  return read as Inputs
}

export const requestTo = (id: string, inputs: Inputs): Outgoing => {
  const { upstreamName, name } = recordOf(id)
  return onceOf(id).ask(checked(id, inputs), upstreamName ?? name)
}

/** The request with forms as pairs and files as their names. */
export const sentOf = (id: string, inputs: Inputs): object => {
  const { body, ...rest } = requestTo(id, inputs)
  if (body === undefined) return rest
  if ('json' in body) return { ...rest, json: body.json }
  if ('raw' in body) return { ...rest, raw: body.raw.mediaType }
  return { ...rest, form: body.form.map((part) => [part.name, 'text' in part ? part.text : part.filename]) }
}

export const answerOf = ({ status = 200, headers = {}, json, bytes, text = '' }: Reply): VendorAnswer => {
  const all =
    json === undefined
      ? (bytes ?? new TextEncoder().encode(text))
      : new TextEncoder().encode(JSON.stringify(json))
  const type = headers['content-type'] ?? (json === undefined ? '' : 'application/json')
  return {
    status,
    header: (name) => (name === 'content-type' ? type : headers[name]),
    bytes: all,
    json: parseJson(new TextDecoder().decode(all)),
  }
}

export const verdictOf = (id: string, inputs: Inputs, reply: Reply): Verdict | undefined =>
  onceOf(id).read(answerOf(reply), checked(id, inputs))

/**
 * The meaning of a reply: its measured units, `blocked`, whose fault it is, `broken`, or the code of the usual reading.
 */
export const readingOf = (id: string, inputs: Inputs, reply: Reply): string | object => {
  const answer = answerOf(reply)
  const verdict = onceOf(id).read(answer, checked(id, inputs))
  if (verdict?.verdict === 'done') return verdict.measured ?? 'not measured'
  if (verdict?.verdict === 'blocked') return 'blocked'
  if (verdict?.verdict === 'failed') return `fault of ${verdict.fault}`
  if (answer.status < 300) return 'broken'
  return judgeVendorError({ status: answer.status, retryAfter: null, body: answer.bytes }, 'x').refusal.code
}

/** What is sent for each product, and what each of its vendor's answers means. */
export const testProducts = (products: readonly ProductCases[]): void => {
  for (const { id, inputs, sent, replies } of products) {
    test(`${id}: what is sent`, () => {
      expect(sentOf(id, inputs)).toEqual(sent)
    })
    test.each(replies.map((one) => [...one] as const))(`${id}: %s`, (_what, reply, expected) => {
      expect(readingOf(id, inputs, reply)).toEqual(expected)
    })
  }
}
