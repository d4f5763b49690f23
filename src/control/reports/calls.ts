/** Acts that show calls, however they ended: listed, one by one, and with what was posted for them. Never any content. */

import { z } from 'zod'
import { amount, namedObject } from '../../core/body.ts'
import { perMillionFromPico } from '../../core/money.ts'
import { invalid, must, type RefusalCode, refuse } from '../../core/refusal.ts'
import { refusalTable } from '../../core/refusal-table.ts'
import { monthOf } from '../../core/time.ts'
import { outcomeOf } from '../../store/reports/call-page.ts'
import type { CallLine, CallPlace, Scope } from '../../store/reports/call-port.ts'
import { termsIn, told } from '../../tenancy/terms.ts'
import { type Acting, act } from '../act.ts'
import { count, instant, isoOf, name } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { orgsOf, reachesAll } from '../who.ts'
import { batchNamed } from './batches.ts'
import { scopeMembers, scopeOf, tagNamed } from './scope.ts'

const tried = z.object({
  vendor: z.string(),
  outcome: z.string(),
  http_status: z.int().nullable().describe('What the vendor answered with'),
  took_ms: z.int(),
})

const shape = {
  id: z.string(),
  at: time.describe('When it was charged, or refused'),
  key: z.object({ id: z.string(), label: z.string(), prefix: z.string() }),
  cost_usd: usd,
  refunded_usd: usd,
  model: z.string().nullable().describe('null for a call that recovery charged, or that named none'),
  vendor: z.string().nullable().describe('null if none was asked'),
  status: z
    .string()
    .nullable()
    .describe('How it ended; of calls that were not charged `refused`, `failed` or `client_gone`'),
  code: z.string().nullable().describe('The error code, of calls that were not charged'),
  http_status: z.int().nullable(),
  reason: z.string().nullable().describe('What the code means'),
  limit: z.string().nullable().describe('The limit that bound'),
  limit_owner: z
    .enum(['key', 'parent'])
    .nullable()
    .describe("Whether the limit is the key's own (`key`) or that of a key above it (`parent`)"),
  param: z.string().nullable().describe('The field that was at fault'),
  endpoint: z.string().nullable().describe('Where it was asked, of calls that were not charged'),
  attempts: z.array(tried).describe('Attempts at vendors that failed'),
  tags: z.record(z.string(), z.string()).nullable().describe('What it was for'),
  guardrails: z
    .record(z.string(), z.string())
    .nullable()
    .describe('What guardrails found in it and did, such as {"input.email": "mask 2"}'),
  prices: z.record(z.string(), z.string()).nullable().describe('USD per million units, by class'),
  vendor_key: z
    .string()
    .nullable()
    .describe('Whose key answered, where the organisation has keys of its own at the vendor: own or house'),
  estimated_vendor_cost_usd: usd
    .nullable()
    .optional()
    .describe('What the vendor bills the organisation for its own key, by the list price'),
  estimated: z.boolean(),
  tokens: z.record(z.string(), z.int()).describe('Units by class'),
  took_ms: z.int().nullable(),
  first_byte_ms: z.int().nullable(),
}
const callShown = namedObject('Call', shape)
export type CallShown = z.output<typeof callShown>

const GONE = 'The caller left before the answer.'
const meaningOf = (code: string): string =>
  Object.hasOwn(refusalTable, code)
    ? `${refusalTable[code as RefusalCode].meaning.split(/\.(?: |$)/)[0]}.`
    : GONE

const pricesOf = ({ detail }: CallLine): Readonly<Record<string, string>> | null => {
  const prices = detail?.receipt?.prices
  if (prices === undefined) return null
  return Object.fromEntries(Object.entries(prices).map(([unit, price]) => [unit, perMillionFromPico(price)]))
}

/** What only calls that were not charged tell. */
const failureShown = ({ failure }: CallLine) => ({
  code: failure?.code ?? null,
  http_status: failure?.status ?? null,
  reason: failure === undefined ? null : meaningOf(failure.code),
  limit: failure?.detail.limit ?? null,
  limit_owner: failure?.detail.owner ?? null,
  param: failure?.detail.param ?? null,
  endpoint: failure?.detail.endpoint ?? null,
})

const shown = (line: CallLine): CallShown => {
  const { id, at, keyId, label, prefix, amount: cost, refunded, detail, failure } = line
  const times = detail ?? failure?.detail
  return {
    id,
    at: isoOf(at),
    key: { id: keyId, label, prefix },
    cost_usd: cost,
    refunded_usd: refunded,
    model: (detail ?? failure)?.model ?? null,
    vendor: (detail ?? failure)?.vendor ?? null,
    status: detail === undefined && failure === undefined ? null : outcomeOf(line),
    ...failureShown(line),
    attempts: (detail?.tries ?? failure?.detail.tries ?? []).map(({ vendor, outcome, status, tookMs }) => ({
      vendor,
      outcome,
      http_status: status ?? null,
      took_ms: tookMs,
    })),
    tags: (detail ?? failure?.detail)?.tags ?? null,
    guardrails: (detail ?? failure?.detail)?.guardrails ?? null,
    prices: pricesOf(line),
    vendor_key: detail?.vendorKey ?? null,
    estimated_vendor_cost_usd: detail?.vendorEstimate === undefined ? null : BigInt(detail.vendorEstimate),
    estimated: detail?.estimated ?? false,
    tokens: Object.fromEntries(Object.entries(detail?.usage ?? {}).filter(([, units]) => units > 0)),
    took_ms: times === undefined ? null : Math.round(times.tookMs),
    first_byte_ms: times?.firstByteMs === undefined ? null : Math.round(times.firstByteMs),
  }
}

/** A call as who asks is told it: a tenant at the price of the month that it counts in, without ours for each unit. */
const shownTo =
  ({ who: { reach } }: Acting) =>
  (line: CallLine): CallShown => {
    const terms = reach.of === 'key' ? reach.key.terms : undefined
    if (terms === undefined) return shown(line)
    const its = termsIn(terms, line.month ?? monthOf(line.detail?.startedAt ?? line.at))
    const { cost_usd: cost, refunded_usd: refunded, estimated_vendor_cost_usd: _ours, ...rest } = shown(line)
    const ours = { prices: null, vendor_key: null }
    return { ...rest, ...ours, cost_usd: told(cost, its), refunded_usd: told(refunded, its) }
  }

const CURSOR = /^(\d{1,15})\.(.+)$/

/** A place in the list, as its cursor says it; anything else is the id of a call. */
const placeIn = (before: string): CallPlace | string => {
  const [, at, id] = CURSOR.exec(before) ?? []
  return at === undefined || id === undefined ? before : { at: Number(at), id }
}

const text = z.string().min(1).max(200).optional()
const USUAL = 50
const MANY = 500
export const CALLS_MOST = 10_000
/** A person or program that asks for many, for a file, waits longer for calls that a filter takes; keys are too many for that. */
const LONG_MS = 5_000

export const callList = act({
  name: 'call.list',
  summary: 'The calls in reach, newest first: charged, refused and failed ones.',
  reads: ['read', 'read_own'],
  amounts: 'told',
  input: {
    ...scopeMembers,
    from: instant(' (in an address, its + is written %2B)').describe('Charged or refused from then on'),
    to: instant(' (in an address, its + is written %2B)').describe('And before then'),
    id: text.describe('Only the call with this request id'),
    batch: text.describe('Only calls of lines of this batch'),
    model: text,
    vendor: text.describe('Also calls of which an attempt at it failed'),
    status: text.describe(
      '`ok`, `refused`, `failed`, `client_gone`, `vendor_failed` and so on; `not_ok` for all but `ok`',
    ),
    code: text.describe('The error code, or the HTTP status, of calls that were not charged'),
    tag: tagNamed.describe('Only calls for this, such as `team=red`, or with this tag'),
    cost_from_usd: amount('must be an amount in USD').optional(),
    cost_to_usd: amount('must be an amount in USD').optional(),
    before: z
      .string()
      .max(300)
      .optional()
      .describe('Only calls before this place: `next` of a page, or the id of a call'),
    limit: count(1, CALLS_MOST).describe(`The most rows; ${USUAL} if absent`),
  },
  shows: namedObject('CallList', {
    object: z.literal('list'),
    data: z.array(callShown),
    has_more: z.boolean().describe('Whether older calls were not looked at yet; a page may have few rows'),
    next: z.string().nullable().describe('The `before` of the page after this one'),
  }),
  does: async (acting, asked) => {
    const { before, limit = USUAL, from, to, id, batch, model, vendor, status, code, tag, ...more } = asked
    const { cost_from_usd: costFrom, cost_to_usd: costTo, ...scope } = more
    if (from !== undefined && to !== undefined && from > to)
      throw invalid('from', "'from' must not be after 'to'.")
    const { lines, next } = await acting.control.store.reports.calls({
      ...(await scopeOf(acting, scope)),
      ...(before === undefined ? {} : { before: placeIn(before) }),
      // Who names a call may have just made it.
      ...(id === undefined ? { mayLag: true } : { id }),
      ...(batch === undefined ? {} : { batch: (await batchNamed(acting, batch, 'read')).id }),
      ...{ from, to, only: { model, vendor, status, code, tag, costFrom, costTo } },
      most: limit,
      ...(limit > MANY && acting.who.reach.of !== 'key' ? { searchMs: LONG_MS } : {}),
    })
    return {
      object: 'list' as const,
      data: lines.map(shownTo(acting)),
      has_more: next !== undefined,
      next: next === undefined ? null : `${next.at}.${next.id}`,
    }
  },
})

const noSuchCall = () => refuse('not_found', 'There is no such call, or it is not yours.')

const lineOf = async ({ control }: Acting, scope: Scope, id: string): Promise<CallLine | undefined> =>
  (await control.store.reports.calls({ ...scope, id, most: 1 })).lines[0]

export const callGet = act({
  name: 'call.get',
  summary: 'One call, by its request id.',
  reads: ['read', 'read_own'],
  amounts: 'told',
  input: { call: name },
  shows: callShown,
  does: async (acting, { call }) =>
    shownTo(acting)(must((await lineOf(acting, await scopeOf(acting, {}), call)) ?? noSuchCall())),
})

export const callCharge = act({
  name: 'call.charge',
  summary: 'A call and what was posted for it, by its request id.',
  reads: ['accounts'],
  input: { call: name },
  shows: namedObject('CallCharge', {
    call: callShown.nullable().describe('null for what no key pays'),
    prices: z.record(z.string(), z.string()).nullable().describe('USD per million units, by class'),
    posted: z.array(
      z.object({
        kind: z.string(),
        from: z.string(),
        to: z.string(),
        amount_usd: usd,
        note: z.string().nullable(),
      }),
    ),
  }),
  does: async (acting, { call }) => {
    const [line, posted] = await Promise.all([
      lineOf(acting, { orgs: orgsOf(acting.who) }, call),
      acting.control.store.ledger.transfersOf(call),
    ])
    // Postings say nothing of organisations: who reaches only some sees those of their calls.
    if (posted.length === 0 || (line === undefined && !reachesAll(acting.who)))
      throw refuse(
        'not_found',
        `nothing was posted for '${call}'; take the id from the answer's X-Request-Id`,
      )
    return {
      call: line === undefined ? null : shown(line),
      prices: line === undefined ? null : pricesOf(line),
      posted: posted.map(({ kind, debit, credit, amount, note }) => ({
        kind,
        from: debit,
        to: credit,
        amount_usd: amount,
        note: note ?? null,
      })),
    }
  },
})
