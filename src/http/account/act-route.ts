/** Makes a row of the route table from an act of the control plane: who asks, what goes in, how it is written. */
import { z } from 'zod'
import { type AnyAct, perform } from '../../control/act.ts'
import {
  bodySchema,
  inputFrom,
  type MoneyForm,
  membersOf,
  type Sources,
  termsFor,
  written,
} from '../../control/face.ts'
import type { Who } from '../../control/who.ts'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { must, Refusal } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { HelperRefusal } from '../answer/helper-refusal.ts'
import { json } from '../answer/reply.ts'
import { readQuery } from '../request/query.ts'
import { readSmallBody } from '../request/read-body.ts'
import type { Handler, HttpCall, Route } from '../route/route.ts'
import { addressOf } from '../route/router.ts'

export type ActRow = Sources &
  Pick<Route, 'statuses'> & {
    readonly act: AnyAct
    /** In place of the act's own. */
    readonly summary?: string
    /** The answer has the act's value as its member `data`, and this name in the reference. */
    readonly data?: string
    /** The name of the body in the reference. */
    readonly bodyName?: string
    /** It counts at the rates of who asks, or as one of their few reports. */
    readonly counts?: Counts
    /** What the specification demands of the body at this address; throws. */
    readonly demands?: (sent: JsonObject) => void
    /** What the specification says in place of a refusal, if it has its own words. */
    readonly instead?: (refusal: Refusal) => HelperRefusal | undefined
  }

type Counts = 'request' | 'report'

type Asking = {
  readonly who: Who
  /** Takes a request from their rates, where those count by act. */
  readonly turn?: (counts: Counts) => Promise<void> | void
}

type Face = {
  readonly auth: Route['auth']
  readonly money: MoneyForm
  /** In its errors, `error` is a string. */
  readonly helper?: true
  readonly asking: (gateway: Gateway, call: HttpCall) => Promise<Asking>
}

const named = (schema: z.ZodType, id: string): z.ZodType => schema.meta({ id })

/** The version of what is shown, for a later `If-Match`. */
const etagOf = (value: unknown): Readonly<Record<string, string>> =>
  isObject(value) && typeof value.version === 'number' ? { etag: `"${value.version}"` } : {}

/** Something is asked for that needs no member. A change without members is rather a mistake. */
const mayLackBody = (row: ActRow): boolean =>
  row.method === 'POST' && bodySchema(row)?.safeParse({}).success === true

const handlerOf =
  ({ money, asking }: Face, row: ActRow, query: readonly string[], bodyOptional: boolean): Handler =>
  async (gateway, call) => {
    const { act, data, counts, statuses, demands } = row
    const { who, turn } = await asking(gateway, call)
    const given = must(readQuery(call.query, query))
    const origin = gateway.console?.origin ?? new URL(addressOf(call.request)).origin
    const value = await perform(
      { ...gateway, origin, returnTo: { origin: new URL(addressOf(call.request)).origin } },
      who,
      act,
      async () => {
        if (counts !== undefined) await turn?.(counts)
        return inputFrom(row, {
          params: call.params,
          query: given,
          header: (name) => call.request.headers.get(name) ?? undefined,
          body: async () => {
            if (bodyOptional && call.request.body === null) return {}
            const sent = await readSmallBody(gateway, call)
            demands?.(sent)
            return sent
          },
        })
      },
    )
    const shown = written(value, money, termsFor(act, who))
    const answer = json(data === undefined ? shown : { data: shown }, statuses?.[0])
    return { ...answer, headers: { ...answer.headers, ...etagOf(value) } }
  }

/** The same, refusing in the words of the specification where it has some. */
const inItsWords =
  (handler: Handler, instead: NonNullable<ActRow['instead']>): Handler =>
  (gateway, call) =>
    handler(gateway, call).catch((thrown: unknown) => {
      throw (thrown instanceof Refusal ? instead(thrown) : undefined) ?? thrown
    })

export const actRoute =
  (face: Face) =>
  (row: ActRow): Route => {
    const { act, data, bodyName = '', statuses, instead } = row
    const body = bodySchema(row)
    const { query } = membersOf(row)
    const bodyOptional = mayLackBody(row)
    const handler = handlerOf(face, row, query, bodyOptional)
    return {
      method: row.method,
      path: row.path,
      summary: row.summary ?? act.summary,
      auth: face.auth,
      ...(face.helper === true ? { helper: true } : {}),
      ...(body === undefined ? {} : { body: named(body, bodyName) }),
      ...(bodyOptional ? { bodyOptional } : {}),
      answer: data === undefined ? act.shows : named(z.object({ data: act.shows }), data),
      query,
      headers: Object.keys(row.headers ?? {}),
      ...(statuses === undefined ? {} : { statuses }),
      ...(face.money === 'text' ? { money: face.money } : {}),
      handler: instead === undefined ? handler : inItsWords(handler, instead),
    }
  }
