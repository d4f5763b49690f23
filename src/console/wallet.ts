/** The wallet of an organisation: its balance, its movements, what it owes. */
import { refuse } from '../core/refusal.ts'
import type { CreditLine, Invoice } from '../store/funding/funding-port.ts'
import type { TopUpStatus } from '../store/funding/top-up-port.ts'
import { shownRules, type WalletRules } from '../tenancy/wallet-rules.ts'
import type { ConsoleRoute, Here, Reply } from './here.ts'
import { within } from './here.ts'
import { walletOf } from './make-key.ts'
import { markOf, placeOf } from './page-mark.ts'
import { isoOf, maybeUsd, usdOf } from './read.ts'
import { most } from './schema/reports.ts'
import { movements, wallet } from './schema/wallet.ts'

const MOVEMENTS = 50
const MOVEMENTS_MOST = 500

const shownTopUps = (status: TopUpStatus, rules: WalletRules) => ({
  card_saved: status.saved,
  active: status.active,
  paused: status.paused ?? null,
  waits_until: status.waitsUntil === undefined ? null : isoOf(status.waitsUntil),
  pending_usd: usdOf(status.pending),
  charged_today_usd: usdOf(status.today),
  charged_this_month_usd: usdOf(status.month),
  rule: shownRules(rules).auto_top_up,
})

const shownCredit = ({ limit, owed, held, status, netDays }: CreditLine) => ({
  limit_usd: usdOf(limit),
  owed_usd: usdOf(owed),
  held_usd: usdOf(held),
  status,
  net_days: netDays,
})

const shownInvoice = ({ id, month, total, dueAt, paidAt, status }: Invoice) => ({
  id,
  month,
  total_usd: usdOf(total),
  due_at: isoOf(dueAt),
  paid_at: paidAt === undefined ? null : isoOf(paidAt),
  status,
})

const getWallet = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { store } = here.gateway
  const { stripe, x402 } = here.gateway.payments
  const id = await walletOf(here)
  const [found, line, invoices, status, { rules }] = await Promise.all([
    store.wallets.wallet(id),
    store.credit.creditLine(id),
    store.credit.invoices(id),
    store.funding.topUpStatus(id),
    store.wallets.walletRules(id),
  ])
  if (found === undefined) throw refuse('not_found', 'The organisation has no wallet.')
  return {
    value: {
      id,
      name: found.name,
      balance_usd: usdOf(found.balance),
      held_usd: usdOf(found.held),
      suspended: rules.suspended ?? null,
      card: stripe !== undefined,
      auto_top_up_daily_usd: maybeUsd(stripe?.topUpDailyMax),
      x402: x402 !== undefined,
      top_ups: shownTopUps(status, rules),
      credit: line === undefined ? null : shownCredit(line),
      invoices: invoices.map(shownInvoice),
    },
  }
}

const getMovements = async (context: Here): Promise<Reply> => {
  const here = within(context)
  here.console.keepRolledUp()
  const { query } = here.request
  const before = placeOf(query.get('before'))
  const { data, hasMore } = await here.gateway.store.reports.movements({
    walletId: await walletOf(here),
    ...(before === undefined ? {} : { before }),
    most: most(query.get('limit'), MOVEMENTS, MOVEMENTS_MOST),
  })
  const last = data.at(-1)
  return {
    value: {
      data: data.map(({ at, kind, ref, note, amount, balance }) => ({
        at: isoOf(at),
        kind,
        ref,
        note: note ?? null,
        amount_usd: usdOf(amount),
        balance_usd: usdOf(balance),
      })),
      next: hasMore && last !== undefined ? markOf(last.next) : null,
    },
  }
}

export const walletRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/wallet',
    summary: 'The wallet, its top-ups, credit line and invoices.',
    audience: ['wallet_read'],
    answer: wallet,
    handler: getWallet,
  },
  {
    method: 'GET',
    path: '/wallet/movements',
    summary: 'What came in and went out, newest first, with the balance after it; calls by UTC day.',
    audience: ['wallet_read'],
    query: ['before', 'limit'],
    answer: movements,
    handler: getMovements,
  },
]
