/**
 * What rules watch, one row a kind: how much is used, of what, in which period. Read from counters and sums that exist
 * already, so that no call costs more for being watched.
 */
import { present } from '../../core/json-body.ts'
import { decimalFromNano, type Nano } from '../../core/money.ts'
import {
  DAY_MS,
  dayOf,
  type Instant,
  monthOf,
  nextDayStart,
  nextMonthStart,
  weekOf,
} from '../../core/time.ts'
import { FORECAST, HOUSE, PAUSED, type Reached, type Rule } from '../../store/alerts/alert-port.ts'
import type { Store } from '../../store/port.ts'
import type { Counted, ReportQuery } from '../../store/reports/report-port.ts'
import { alertKinds, type RuleKind } from '../../tenancy/alert-kinds.ts'
import { capList } from '../../tenancy/limits.ts'

type Read = Pick<Store, 'alerts' | 'funding' | 'reports' | 'subWallets' | 'wallets'>

/** Amounts are nano-USD, shares hundredths of a percent. */
type Measure = {
  readonly period: string
  /** Such as `in 2026-11`. */
  readonly when: string
  readonly used: bigint
  readonly limit: bigint
  readonly endsAt?: Instant
  /** A month, of which a forecast can be made. */
  readonly startsAt?: Instant
  readonly lasting?: true
  /** Reached when it is below a step, and not at it or above. */
  readonly below?: true
  readonly share?: true
  /** The wallet of a balance, and why its top-ups wait for their owner if it is that that is told. */
  readonly wallet?: string
  readonly paused?: string
}

type Measuring = (store: Read, rule: Rule, now: Instant) => Promise<readonly Measure[]>

const orgsOf = ({ orgId }: Rule) => (orgId === HOUSE ? 'all' : [orgId])

const used = async (
  { reports }: Read,
  rule: Rule,
  span: { readonly from: Instant; readonly to: Instant },
  only: Partial<ReportQuery> = {},
): Promise<Counted> => {
  const query = { ...span, orgs: orgsOf(rule), groupBy: ['month'], only: {}, most: 1, bare: true } as const
  return (await reports.usageAndTotal({ ...query, ...only })).total
}

const monthOfSpending =
  (only: (subject: string) => Partial<ReportQuery>): Measuring =>
  async (store, rule, now) => {
    const month = monthOf(now)
    const span = { from: Date.parse(`${month}-01`), to: now + 1 }
    const { amount } = await used(store, rule, span, only(rule.subject ?? ''))
    const limit = rule.amount ?? 0n
    const end = { startsAt: span.from, endsAt: nextMonthStart(now) }
    return [{ period: month, when: `in ${month}`, used: amount, limit, ...end }]
  }

/** The wallets that an organisation pays with: its first. The house has none of its own. */
const walletsOf = async ({ reports }: Read, { orgId }: Rule) =>
  orgId === HOUSE ? [] : (await reports.walletsOf(orgId)).slice(0, 1)

const dayOfWallet: Measuring = async ({ reports, wallets, ...store }, rule, now) => {
  const [id] = await walletsOf({ reports, wallets, ...store }, rule)
  if (id === undefined) return []
  const { rules } = await wallets.walletRules(id)
  if (rules.dailyLimit === undefined) return []
  const { spent } = await wallets.spentToday(id)
  const day = dayOf(now)
  return [{ period: day, when: `on ${day}`, used: spent, limit: rules.dailyLimit, endsAt: nextDayStart(now) }]
}

const balanceOf: Measuring = async (store, rule, now) => {
  const [id = ''] = rule.subject === undefined ? await walletsOf(store, rule) : [rule.subject]
  const wallet = await store.wallets.wallet(id)
  if (wallet === undefined) return []
  const { paused } = await store.funding.topUpStatus(id)
  const period = { period: dayOf(now), when: 'now', endsAt: nextDayStart(now) }
  const { balance } = wallet
  const low = {
    ...period,
    wallet: id,
    used: balance,
    limit: rule.amount ?? 0n,
    lasting: true,
    below: true,
  } as const
  return paused === undefined ? [low] : [low, { ...low, paused }]
}

const periodsOf = (now: Instant) =>
  ({
    life: { period: 'ever', when: 'in all' },
    month: { period: monthOf(now), when: `in ${monthOf(now)}`, endsAt: nextMonthStart(now) },
    week: { period: weekOf(dayOf(now)), when: 'in this week', endsAt: now + 7 * DAY_MS },
    day: { period: dayOf(now), when: `on ${dayOf(now)}`, endsAt: nextDayStart(now) },
  }) as const

const capsOf: Measuring = async ({ reports }, rule, now) => {
  const id = rule.subject ?? ''
  const [line] = await reports.keys({ orgs: orgsOf(rule), which: 'all', id, most: 1 })
  if (line === undefined) return []
  return capList.flatMap(({ name, cap }) => {
    const limit = line.key.limits[name]
    return limit === undefined ? [] : [{ ...periodsOf(now)[cap.period], used: line[cap.spent], limit }]
  })
}

const budgetOf: Measuring = async (store, rule, now) => {
  const [walletId] = await walletsOf(store, rule)
  if (walletId === undefined) return []
  const sub = await store.subWallets.subWallet({ walletId }, rule.subject ?? '')
  return sub === undefined ? [] : [{ ...periodsOf(now).life, used: sub.spent, limit: sub.budget }]
}

/** A share of fewer calls says nothing. */
const LEAST_CALLS = 20
const WHOLE = 10_000n
const MINUTE_MS = 60_000

const shareOf =
  (share: (store: Read, rule: Rule, from: Instant, all: Counted) => Promise<bigint>): Measuring =>
  async (store, rule, now) => {
    const minutes = rule.minutes ?? 60
    const from = now - minutes * MINUTE_MS
    const part = await share(store, rule, from, await used(store, rule, { from, to: now + 1 }))
    const slot = Math.floor(now / (minutes * MINUTE_MS))
    const endsAt = (slot + 1) * minutes * MINUTE_MS
    const when = `in the last ${minutes} minutes`
    return [
      { period: `${slot}x${minutes}`, when, used: part, limit: WHOLE, endsAt, lasting: true, share: true },
    ]
  }

const failed = shareOf(async ({ alerts }, rule, from, { requests }) => {
  const calls = await alerts.failedSince(orgsOf(rule), from)
  const all = requests + calls
  return all < LEAST_CALLS ? 0n : (BigInt(calls) * WHOLE) / BigInt(all)
})

const missed = shareOf(async (_store, _rule, _from, { requests, inputTokens, cachedTokens }) =>
  requests < LEAST_CALLS || inputTokens === 0
    ? 0n
    : (BigInt(inputTokens - cachedTokens) * WHOLE) / BigInt(inputTokens),
)

const orLimit =
  (amount: Measuring, limit: Measuring): Measuring =>
  (store, rule, now) =>
    (rule.amount === undefined ? limit : amount)(store, rule, now)

const measures: Readonly<Record<RuleKind, Measuring>> = {
  balance: balanceOf,
  wallet: orLimit(
    monthOfSpending(() => ({})),
    dayOfWallet,
  ),
  key: orLimit(
    monthOfSpending((tree) => ({ tree })),
    capsOf,
  ),
  person: monthOfSpending((madeBy) => ({ madeBy })),
  sub_wallet: budgetOf,
  vendor: monthOfSpending((vendor) => ({ only: { vendor } })),
  failures: failed,
  cache: missed,
}

const percent = (value: bigint): string => `${decimalOfHundredths(value)} %`
const decimalOfHundredths = (value: bigint): string =>
  (Number(value) / 100).toFixed(value % 100n === 0n ? 0 : 2)
const usd = (amount: Nano): string => `$${decimalFromNano(amount)}`

/** Of a month: what it comes to if it goes on as until now. Nothing is said of one that has just begun. */
const forecastOf = ({ used: spent, startsAt, endsAt }: Measure, now: Instant): bigint =>
  startsAt === undefined || endsAt === undefined || now - startsAt < DAY_MS
    ? 0n
    : (spent * BigInt(endsAt - startsAt)) / BigInt(now - startsAt)

const isReached = (it: Measure, step: number, now: Instant): boolean => {
  const { used: spent, limit } = it
  if (step === PAUSED) return true
  if (limit <= 0n) return false
  if (step === FORECAST) return forecastOf(it, now) >= limit
  return it.below === true ? spent * 100n < limit * BigInt(step) : spent * 100n >= limit * BigInt(step)
}

const textOf = (rule: Rule, it: Measure, step: number, now: Instant): string => {
  const what = `${alertKinds[rule.kind].label}${rule.subject === undefined ? '' : ` (${rule.subject})`}`
  if (it.share === true) return `${what}: ${percent(it.used)} ${it.when}; the alert is set to ${step} %.`
  if (step === PAUSED) return `${what}: ${usd(it.used)}, and its top-ups are paused (${it.paused}).`
  if (it.below === true) return `${what}: ${usd(it.used)}, below ${step} % of ${usd(it.limit)}.`
  if (step !== FORECAST)
    return `${what}: ${usd(it.used)} of ${usd(it.limit)} ${it.when}, which is ${step} % or more.`
  return `${what}: ${usd(it.used)} ${it.when} so far, forecast to be ${usd(forecastOf(it, now))} of ${usd(it.limit)}.`
}

/** Mild steps first. */
const bySeverity = (below: boolean, steps: readonly number[]): readonly number[] =>
  below ? steps.toReversed() : steps

const severityOf = (it: Measure, step: number) =>
  step === FORECAST ? 'info' : it.below !== true && it.share !== true && step >= 100 ? 'critical' : 'warning'

/** The steps of a rule that are reached now, mild ones first. A limit that changes begins anew. */
export const reachedNow = async (store: Read, rule: Rule, now: Instant): Promise<readonly Reached[]> => {
  const found = await measures[rule.kind](store, rule, now)
  return found.flatMap((it) =>
    bySeverity(it.below === true, it.paused === undefined ? rule.steps : [PAUSED])
      .filter((step) => isReached(it, step, now))
      .map((step): Reached => {
        const text = textOf(rule, it, step, now)
        const figures = {
          used: it.share === true ? percent(it.used) : decimalFromNano(it.used),
          limit: it.share === true ? percent(it.limit) : decimalFromNano(it.limit),
        }
        const message = { title: rule.name, text, severity: severityOf(it, step), kind: rule.kind, step }
        return {
          period: `${it.period}/${it.limit}`,
          step,
          ...(it.endsAt === undefined ? {} : { endsAt: it.endsAt }),
          ...(it.lasting === undefined ? {} : { lasting: it.lasting }),
          message: {
            ...message,
            rule: rule.id,
            ...figures,
            ...present({ wallet: it.wallet, reason: it.paused }),
          },
        }
      }),
  )
}
