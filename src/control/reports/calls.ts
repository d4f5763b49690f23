/** Acts that show calls: listed, one by one, and with what was posted for them. Never any content. */

import { z } from 'zod'
import { perMillionFromPico } from '../../core/money.ts'
import { must, refuse } from '../../core/refusal.ts'
import type { CallLine, Scope } from '../../store/reports/report-port.ts'
import { type Acting, act } from '../act.ts'
import { count, isoOf, name } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { orgsOf, reachesAll } from '../who.ts'
import { scopeMembers, scopeOf } from './scope.ts'

const shape = {
  id: z.string(),
  at: time,
  key: z.object({ id: z.string(), label: z.string(), prefix: z.string() }),
  cost_usd: usd,
  refunded_usd: usd,
  model: z.string().nullable().describe('null for a call that recovery charged'),
  vendor: z.string().nullable(),
  status: z.string().nullable(),
  estimated: z.boolean(),
  tokens: z.record(z.string(), z.int()).describe('Units by class'),
  took_ms: z.int().nullable(),
  first_byte_ms: z.int().nullable(),
}
const callShown = z.object(shape).meta({ id: 'Call' })
export type CallShown = z.output<typeof callShown>

const shown = ({ id, at, keyId, label, prefix, amount, refunded, detail }: CallLine): CallShown => ({
  id,
  at: isoOf(at),
  key: { id: keyId, label, prefix },
  cost_usd: amount,
  refunded_usd: refunded,
  model: detail?.model ?? null,
  vendor: detail?.vendor ?? null,
  status: detail?.ended ?? null,
  estimated: detail?.estimated ?? false,
  tokens: Object.fromEntries(Object.entries(detail?.usage ?? {}).filter(([, units]) => units > 0)),
  took_ms: detail === undefined ? null : Math.round(detail.tookMs),
  first_byte_ms: detail === undefined ? null : Math.round(detail.firstByteMs),
})

export const callList = act({
  name: 'call.list',
  summary: 'The calls in reach that were charged, newest first.',
  may: ['read', 'read_own'],
  changes: false,
  input: {
    ...scopeMembers,
    before: z.string().optional().describe('Only calls before this one, by its id'),
    limit: count(1, 500),
  },
  shows: z
    .object({ object: z.literal('list'), data: z.array(callShown), has_more: z.boolean() })
    .meta({ id: 'CallList' }),
  does: async (acting, { before, limit = 50, ...asked }) => {
    const found = await acting.control.store.reports.calls({
      ...(await scopeOf(acting, asked)),
      ...(before === undefined ? {} : { before }),
      most: limit + 1,
    })
    return { object: 'list' as const, data: found.slice(0, limit).map(shown), has_more: found.length > limit }
  },
})

const noSuchCall = () => refuse('not_found', 'There is no such call, or it is not yours.')

const lineOf = async ({ control }: Acting, scope: Scope, id: string): Promise<CallLine | undefined> =>
  (await control.store.reports.calls({ ...scope, id, most: 1 }))[0]

export const callGet = act({
  name: 'call.get',
  summary: 'One call, by its request id.',
  may: ['read', 'read_own'],
  changes: false,
  input: { call: name },
  shows: callShown,
  does: async (acting, { call }) =>
    shown(must((await lineOf(acting, await scopeOf(acting, {}), call)) ?? noSuchCall())),
})

export const callCharge = act({
  name: 'call.charge',
  summary: 'A call and what was posted for it, by its request id.',
  may: ['accounts'],
  changes: false,
  input: { call: name },
  shows: z
    .object({
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
    })
    .meta({ id: 'CallCharge' }),
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
    const prices = line?.detail?.receipt?.prices
    return {
      call: line === undefined ? null : shown(line),
      prices:
        prices === undefined
          ? null
          : Object.fromEntries(
              Object.entries(prices).map(([unit, price]) => [unit, perMillionFromPico(price)]),
            ),
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
