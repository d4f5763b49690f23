/** Acts that show a wallet: what it has, how it is topped up, what it owes, and what moved. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { isObject, parseJson } from '../../core/json-body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { topUpPauses } from '../../store/funding/top-up-port.ts'
import type { MovementPlace } from '../../store/reports/report-port.ts'
import { rulesAs } from '../../tenancy/wallet-rules.ts'
import { act } from '../act.ts'
import { payer, walletIn } from '../org-of.ts'
import { count, isoOf } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { creditLine, invoice, invoiceShown, lineShown } from './invoices.ts'

export const walletGet = act({
  name: 'wallet.get',
  summary: 'The wallet, its top-ups, credit line and invoices.',
  reads: ['wallet_read'],
  input: payer,
  shows: namedObject('WalletShown', {
    id: z.string(),
    name: z.string(),
    organisation: z.string(),
    balance_usd: usd,
    held_usd: usd.describe('By open calls'),
    suspended: z.string().nullable().describe('Why the operator has suspended the account'),
    card: z.boolean().describe('Whether it can be topped up by card'),
    auto_top_up_daily_usd: usd.nullable().describe('The most that a saved card is charged in a UTC day'),
    x402: z.boolean(),
    top_ups: z.object({
      card_saved: z.boolean(),
      active: z.boolean(),
      paused: z.enum(topUpPauses).nullable().describe('Why the rule waits for its owner'),
      waits_until: time.nullable(),
      pending_usd: usd,
      charged_today_usd: usd,
      charged_this_month_usd: usd,
      rule: z.object({ below_usd: usd, amount_usd: usd, monthly_max_usd: usd.nullable() }).nullable(),
    }),
    credit: creditLine.nullable(),
    invoices: z.array(invoice),
  }),
  does: async (acting, of) => {
    const { store, payments } = acting.control
    const id = await walletIn(acting, of)
    const [found, line, invoices, status, { rules }] = await Promise.all([
      store.wallets.wallet(id),
      store.credit.creditLine(id),
      store.credit.invoices(id),
      store.funding.topUpStatus(id),
      store.wallets.walletRules(id),
    ])
    const { name, orgId, balance, held } = must(
      found ?? refuse('not_found', 'The organisation has no wallet.'),
    )
    return {
      id,
      name,
      organisation: orgId,
      balance_usd: balance,
      held_usd: held,
      suspended: rules.suspended ?? null,
      card: payments.stripe !== undefined,
      auto_top_up_daily_usd: payments.stripe?.topUpDailyMax ?? null,
      x402: payments.x402 !== undefined,
      top_ups: {
        card_saved: status.saved,
        active: status.active,
        paused: status.paused ?? null,
        waits_until: status.waitsUntil === undefined ? null : isoOf(status.waitsUntil),
        pending_usd: status.pending,
        charged_today_usd: status.today,
        charged_this_month_usd: status.month,
        rule: rulesAs(rules, (nano) => nano).auto_top_up,
      },
      credit: line === undefined ? null : lineShown(line),
      invoices: invoices.map(invoiceShown),
    }
  },
})

const MARK = "'before' must be the 'next' of a page of movements."

/** Where the next page begins, as a text that is sent back. */
const markOf = ({ place, kind, ref, balance }: MovementPlace): string =>
  Buffer.from(JSON.stringify({ place, kind, ref, balance: String(balance) })).toString('base64url')

const placeOf = (mark: string): MovementPlace => {
  const read = parseJson(Buffer.from(mark, 'base64url').toString())
  const { place, kind, ref, balance } = isObject(read) ? read : {}
  if (
    typeof place !== 'number' ||
    !Number.isSafeInteger(place) ||
    typeof kind !== 'string' ||
    typeof ref !== 'string' ||
    typeof balance !== 'string' ||
    !/^-?\d{1,19}$/.test(balance)
  )
    throw invalid('before', MARK)
  return { place, kind, ref, balance: BigInt(balance) }
}

export const walletMovements = act({
  name: 'wallet.movements',
  summary: 'What came in and went out, newest first, with the balance after it; calls by UTC day.',
  reads: ['wallet_read'],
  input: { ...payer, before: z.string().optional(), limit: count(1, 500) },
  shows: namedObject('Movements', {
    data: z.array(
      z.object({
        at: time,
        kind: z.string(),
        ref: z.string(),
        note: z.string().nullable(),
        amount_usd: usd,
        balance_usd: usd,
      }),
    ),
    next: z.string().nullable().describe('`before` of the next page'),
  }),
  does: async (acting, { before, limit = 50, ...of }) => {
    const { data, hasMore } = await acting.control.store.reports.movements({
      walletId: await walletIn(acting, of),
      ...(before === undefined ? {} : { before: placeOf(before) }),
      most: limit,
    })
    const last = data.at(-1)
    return {
      data: data.map(({ at, kind, ref, note, amount, balance }) => ({
        at: isoOf(at),
        kind,
        ref,
        note: note ?? null,
        amount_usd: amount,
        balance_usd: balance,
      })),
      next: hasMore && last !== undefined ? markOf(last.next) : null,
    }
  },
})
