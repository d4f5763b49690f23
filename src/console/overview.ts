/** The overview: what is left, what is spent, on what, and what needs attention. */

import { failingOf } from '../control/house/vendors.ts'
import { keyScope } from '../control/key-named.ts'
import { scopeOf } from '../control/reports/scope.ts'
import { decimalFromNano, greatest, type Nano } from '../core/money.ts'
import { refusalTable } from '../core/refusal-table.ts'
import { DAY_MS, monthsBefore } from '../core/time.ts'
import type { FailureLine } from '../store/reports/call-port.ts'
import type { KeyLine, ReportLine } from '../store/reports/report-port.ts'
import { capList } from '../tenancy/limits.ts'
import { actingOf, walletHere } from './acting.ts'
import { alertAttention } from './alert-attention.ts'
import { type ConsoleRoute, type Here, may, type Reply, type Within, within } from './here.ts'
import { route } from './row.ts'
import { type OverviewShown, overview } from './schema/reports.ts'

const sumOf = (lines: readonly ReportLine[], of: (line: ReportLine) => boolean): Nano =>
  lines.reduce((sum, line) => (of(line) ? sum + line.amount : sum), 0n)

type Attention = OverviewShown['attention'][number]

const attentionOf = (
  keys: readonly KeyLine[],
  balance: Nano | undefined,
  daysLeft: number | null,
  mayPay: boolean,
): readonly Attention[] => [
  ...(balance !== undefined && balance <= 0n
    ? [{ kind: 'empty', text: 'The wallet is empty: calls are refused.', to: '/wallet' }]
    : daysLeft !== null && daysLeft < 7
      ? [
          {
            kind: 'low',
            text: `The wallet lasts about ${daysLeft} more ${daysLeft === 1 ? 'day' : 'days'} at this week's rate.${mayPay ? ' Top it up.' : ''}`,
            to: '/wallet',
          },
        ]
      : []),
  ...keys.flatMap(({ key, ...spent }) => {
    const reached = key.disabledReason === 'spend_cap' || key.disabledReason === 'monthly_cap'
    if (reached)
      return [{ kind: 'cap', text: `${key.label} reached its cap and is refused.`, to: `/keys/${key.id}` }]
    const near = (used: Nano, cap: Nano | undefined) =>
      cap !== undefined && cap > 0n && used * 10n >= cap * 9n
    return capList.some(({ name, cap }) => near(spent[cap.spent], key.limits[name]))
      ? [{ kind: 'near', text: `${key.label} has used 90 % of its cap.`, to: `/keys/${key.id}` }]
      : []
  }),
]

/** Codes that say more than that a caller made a mistake: money, rights, rates, vendors, ourselves. */
const ALARMING = Object.entries(refusalTable).flatMap(([code, { status }]) =>
  [402, 403, 429].includes(status) || status >= 500 ? [code] : [],
)

/** Whose calls were not answered today, and why. */
const refusedOf = (lines: readonly FailureLine[]): readonly Attention[] =>
  lines.map(({ keyId, label, code, calls }) => ({
    kind: 'refused',
    text: `${label || keyId}: ${calls} ${calls === 1 ? 'call was' : 'calls were'} not answered today (${code.replaceAll('_', ' ')}).`,
    to: '/calls',
    search: { key: keyId, code },
  }))

/** A vendor that fails this often in a row is told of. */
const FAILURES_TOLD = 3

/** Vendors that fail in the process that answers; only operators can do something about it. */
const failingVendors = ({ gateway, session }: Within): readonly Attention[] =>
  session.operator
    ? [...gateway.offering.vendors.values()].flatMap((setup) => {
        const most = Math.max(0, ...failingOf(gateway, setup).map(({ failures }) => failures))
        return most < FAILURES_TOLD
          ? []
          : [{ kind: 'vendor', text: `${setup.vendor.name} failed ${most} times in a row.`, to: '/vendors' }]
      })
    : []

const WEEK_DAYS = 7n
const ATTENTION_MOST = 8

const readOverview = async (here: Within) => {
  const { reports, wallets } = here.gateway.store
  const scope = await scopeOf(actingOf(here), {})
  const today = Math.trunc(here.gateway.clock.now() / DAY_MS) * DAY_MS
  const month = monthsBefore(today, 0)
  const span = {
    ...scope,
    from: today - 29 * DAY_MS,
    to: today + DAY_MS,
    only: {},
    most: 2_000,
    mayLag: true as const,
  }
  // The first of a month of 31 days is 30 days before its last.
  const spent = { ...span, from: Math.min(month, today - 7 * DAY_MS) }
  const ofKeys = { ...keyScope(actingOf(here), 'read'), which: 'all' } as const
  const [found, ofDays, byDay, busiest, near, any, refused] = await Promise.all([
    wallets.wallet(await walletHere(here)),
    reports.usage({ ...spent, groupBy: ['day'] }),
    reports.usage({ ...span, groupBy: ['day', 'model'] }),
    reports.usage({ ...span, from: today - 6 * DAY_MS, groupBy: ['key'], byCost: true, most: 5 }),
    reports.keys({ ...ofKeys, nearCap: true, most: ATTENTION_MOST }),
    reports.keys({ ...ofKeys, most: 1 }),
    reports.failures({ ...scope, mayLag: true, from: today, codes: ALARMING, most: ATTENTION_MOST / 2 }),
  ])
  return { today, month, found, ofDays, byDay, busiest, near, refused, hasKeys: any.length > 0 }
}

const getOverview = async (context: Here): Promise<Reply> => {
  const here = within(context)
  here.console.keepRolledUp()
  const { today, month, found, ofDays, byDay, busiest, near, refused, hasKeys } = await readOverview(here)
  const since = (at: number) => (line: ReportLine) => Date.parse(line.groups.day ?? '') >= at
  const week = sumOf(ofDays, (line) => since(today - 7 * DAY_MS)(line) && !since(today)(line))
  const balance = found?.balance ?? 0n
  const seesWallet = may(here, 'wallet_read')
  const daysLeft = seesWallet && week > 0n ? Number((greatest(balance, 0n) * WEEK_DAYS) / week) : null
  const todays = ofDays.filter(since(today))
  return {
    value: {
      balance_usd: seesWallet ? decimalFromNano(balance) : null,
      held_usd: seesWallet ? decimalFromNano(found?.held ?? 0n) : null,
      spent_today_usd: decimalFromNano(sumOf(todays, () => true)),
      spent_this_month_usd: decimalFromNano(sumOf(ofDays, since(month))),
      spent_week_usd: decimalFromNano(week),
      days_left: daysLeft,
      requests_today: todays.reduce((sum, { requests }) => sum + requests, 0),
      by_day: byDay.map(({ groups, amount, requests }) => ({
        day: (groups.day ?? '').slice(0, 10),
        model: groups.model ?? '',
        cost_usd: decimalFromNano(amount),
        requests,
      })),
      keys: busiest.map(({ groups, label, amount, requests }) => ({
        id: groups.key ?? '',
        label: label ?? '',
        cost_usd: decimalFromNano(amount),
        requests,
      })),
      attention: [
        ...failingVendors(here),
        ...(seesWallet ? await alertAttention(here) : []),
        ...refusedOf(refused),
        ...attentionOf(near, seesWallet ? balance : undefined, daysLeft, may(here, 'wallet')),
      ].slice(0, ATTENTION_MOST),
      has_keys: hasKeys,
    },
  }
}

export const overviewRoutes: readonly ConsoleRoute[] = [
  route('GET /overview', {
    summary: 'Balance, spending by day and model, the busiest keys, what needs attention.',
    audience: ['read', 'read_own'],
    answer: overview,
    handler: getOverview,
  }),
]
