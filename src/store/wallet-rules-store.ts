/** Wallet rules in the database: read, changed under a lock, and the alerts of wallets that run low. */
import type { Nano } from '../core/money.ts'
import { dayOf, nextDayStart } from '../core/time.ts'
import { dayScope } from '../ledger/scopes.ts'
import { type AutoTopUp, changedRules, type KnownRules, type WalletRules } from '../tenancy/wallet-rules.ts'
import { type Engine, once, type Row, type Run, statement } from './engine.ts'
import { DAY_KEPT_MS } from './grant-meters.ts'
import { countOf, nanoOf, onlyRow, textOf } from './row.ts'
import type { WalletAlert, WalletRulesStore } from './wallet-rules-port.ts'

/** Money is written as decimal text, since JSON has no integers of this size. */
type Stored = {
  perCallMax?: string
  dailyLimit?: string
  alertBelow?: string
  allowedModels?: string[]
  blockedModels?: string[]
  alertWebhookUrl?: string
  autoTopUp?: { below: string; amount: string; monthlyMax?: string }
}

const compact = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never

const money = (text: string | undefined): Nano | undefined => (text === undefined ? undefined : BigInt(text))

const topUpOf = (stored: NonNullable<Stored['autoTopUp']>): AutoTopUp => ({
  below: BigInt(stored.below),
  amount: BigInt(stored.amount),
  ...compact({ monthlyMax: money(stored.monthlyMax) }),
})

const rulesOf = (text: string): WalletRules => {
  const stored: Stored = JSON.parse(text)
  return compact({
    perCallMax: money(stored.perCallMax),
    dailyLimit: money(stored.dailyLimit),
    alertBelow: money(stored.alertBelow),
    allowedModels: stored.allowedModels,
    blockedModels: stored.blockedModels,
    alertWebhookUrl: stored.alertWebhookUrl,
    autoTopUp: stored.autoTopUp === undefined ? undefined : topUpOf(stored.autoTopUp),
  })
}

const textOfRules = (rules: WalletRules): string =>
  JSON.stringify(rules, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))

/** The rules in a row of the table. */
export const knownRulesOf = (row: Row): KnownRules => ({
  walletId: textOf(row, 'wallet_id'),
  rules: rulesOf(textOf(row, 'rules')),
  version: countOf(row, 'version'),
})

/**
 * Brings the counter of today to a new daily limit, and that of tomorrow: a grant that makes tomorrow's counter while
 * this commits must not give it the old one.
 */
const setDailyLimit = async (run: Run, it: { wallet: string; limit: Nano | null; now: number }) => {
  for (const day of [it.now, nextDayStart(it.now)])
    await run(
      `insert into budget (scope, day, keep_until, wallet_id, lim) values ($1, $2, $3, $4, $5)
       on conflict (scope) do update set tolerated = budget.used + budget.held, lim = excluded.lim`,
      [dayScope(it.wallet, dayOf(day)), dayOf(day), nextDayStart(day) + DAY_KEPT_MS, it.wallet, it.limit],
    )
}

const change = async (
  engine: Engine,
  id: string,
  asked: Parameters<WalletRulesStore['changeWalletRules']>[1],
): Promise<KnownRules> => {
  const { now, lock } = engine.words
  return engine.transaction('control', async (run) => {
    await run(
      `insert into wallet_rules (wallet_id, rules, version, changed_at) values ($1, '{}', 0, ${now})
       on conflict (wallet_id) do nothing`,
      [id],
    )
    const row = onlyRow(
      await run(`select r.*, ${now} as now from wallet_rules r where r.wallet_id = $1${lock('r')}`, [id]),
    )
    const before = knownRulesOf(row)
    const rules = changedRules(before.rules, asked)
    const limit = rules.dailyLimit ?? null
    const rearm =
      rules.alertBelow !== before.rules.alertBelow || rules.alertWebhookUrl !== before.rules.alertWebhookUrl
    await run(
      `update wallet_rules set rules = $2, daily_limit = $3, alert_below = $4, version = version + 1,
         changed_at = ${now}, alert_state = case when $5 = 1 then 'armed' else alert_state end where wallet_id = $1`,
      [
        id,
        textOfRules(rules),
        limit,
        rules.alertWebhookUrl === undefined ? null : (rules.alertBelow ?? null),
        rearm ? 1 : 0,
      ],
    )
    if (rules.dailyLimit !== before.rules.dailyLimit)
      await setDailyLimit(run, { wallet: id, limit, now: countOf(row, 'now') })
    return { walletId: id, rules, version: before.version + 1 }
  })
}

const BALANCE = `(select a.balance - coalesce((select cast(sum(l.used) as bigint) from lease l
    where l.wallet_id = a.id and l.state <> 'closed'), 0) from account a where a.id = wallet_rules.wallet_id)`
const TRIES = 8
const AGAIN_MS = 30_000

const takeAlertsOn = async (engine: Engine): Promise<readonly WalletAlert[]> => {
  const { now } = engine.words
  const [, , , rows = []] = await engine.batch('control', [
    statement(
      `update wallet_rules set alert_state = 'armed' where alert_below is not null and alert_state <> 'armed'
         and ${BALANCE} >= alert_below`,
    ),
    statement(
      `update wallet_rules set alert_state = 'due', alert_id = wallet_id || ':' || cast(${now} as text),
         alert_tries = 0, alert_next_at = 0
       where alert_below is not null and alert_state = 'armed' and ${BALANCE} < alert_below`,
    ),
    statement(
      `update wallet_rules set alert_state = 'done' where alert_state = 'due' and alert_tries >= ${TRIES}
         and alert_next_at <= ${now}`,
    ),
    statement(
      `update wallet_rules set alert_tries = alert_tries + 1,
         alert_next_at = ${now} + ${AGAIN_MS} * (alert_tries + 1) * (alert_tries + 1)
       where alert_below is not null and alert_state = 'due' and alert_next_at <= ${now}
       returning wallet_id, alert_id, alert_below, rules, ${BALANCE} as balance`,
    ),
  ])
  return rows.flatMap((row): readonly WalletAlert[] => {
    const url = rulesOf(textOf(row, 'rules')).alertWebhookUrl
    if (url === undefined) return []
    return [
      {
        id: textOf(row, 'alert_id'),
        walletId: textOf(row, 'wallet_id'),
        url,
        balance: nanoOf(row, 'balance'),
        below: nanoOf(row, 'alert_below'),
      },
    ]
  })
}

const spentTodayOn = async (engine: Engine, id: string) => {
  const [clock = []] = await engine.batch('control', [statement(`select ${engine.words.now} as now`)])
  const day = dayOf(countOf(onlyRow(clock), 'now'))
  const leases = `from lease l where l.day = $2 and l.state <> 'closed'
    and l.key_id in (select k.id from api_key k where k.wallet_id = $1)`
  const row = onlyRow(
    await once(
      engine,
      'control',
      statement(
        `select coalesce((select b.used from budget b where b.scope = $3), 0)
             + coalesce((select cast(sum(l.used) as bigint) ${leases}), 0) as spent,
           coalesce((select cast(sum((select coalesce(sum(f.hold), 0) from inflight f where f.lease_id = l.id)) as bigint)
             ${leases}), 0) as held`,
        id,
        day,
        dayScope(id, day),
      ),
    ),
  )
  return { spent: nanoOf(row, 'spent'), held: nanoOf(row, 'held') }
}

export const walletRulesStore = (engine: Engine): WalletRulesStore => ({
  spentToday: (id) => spentTodayOn(engine, id),
  walletRules: async (id) => {
    const [row] = await once(
      engine,
      'control',
      statement('select * from wallet_rules where wallet_id = $1', id),
    )
    return row === undefined ? { walletId: id, rules: {}, version: 0 } : knownRulesOf(row)
  },
  changeWalletRules: async (id, asked) => {
    const known = await change(engine, id, asked)
    const row = onlyRow(await once(engine, 'control', statement(`select ${engine.words.now} as now`)))
    return { known, at: countOf(row, 'now') }
  },
  takeAlerts: () => takeAlertsOn(engine),
  alertSent: async ({ id, walletId }) => {
    await once(
      engine,
      'control',
      statement(
        `update wallet_rules set alert_state = 'done' where wallet_id = $1 and alert_id = $2 and alert_state = 'due'`,
        walletId,
        id,
      ),
    )
  },
})
