/** Wallet rules in the database: read, and changed under a lock. */
import type { Nano } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { dayOf, nextDayStart } from '../../core/time.ts'
import { dayScope } from '../../ledger/scopes.ts'
import {
  changedRules,
  type KnownRules,
  type RulesChange,
  shownRules,
  type WalletRules,
} from '../../tenancy/wallet-rules.ts'
import { setWalletAlert } from '../alerts/wallet-alert.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, once, type Row, type Run, type SqlDialect } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow } from '../engine/row.ts'
import { setTopUpRule } from '../funding/stop-top-ups.ts'
import { DAY_KEPT_MS } from '../ledger/spender.ts'
import { heldOnLeases, usedOnLeases } from '../ledger/sums.ts'
import { type Actor, theHouse } from '../people/event-port.ts'
import { recordOfWallet } from '../people/event-store.ts'
import type { WalletRulesStore } from './wallet-rules-port.ts'
import { knownRulesOf, textOfRules } from './wallet-rules-row.ts'

/**
 * Updates the counters of today and tomorrow to a new daily limit. Tomorrow's too, because a loan that creates it while
 * this commits must not give it the old limit.
 */
const setDailyLimit = async (run: Run, it: { wallet: string; limit: Nano | null; now: number }) => {
  for (const day of [it.now, nextDayStart(it.now)])
    await run(
      `insert into budget (scope, day, keep_until, wallet_id, lim) values ($1, $2, $3, $4, $5)
       on conflict (scope) do update set tolerated = budget.used + budget.held, lim = excluded.lim`,
      [dayScope(it.wallet, dayOf(day)), dayOf(day), nextDayStart(day) + DAY_KEPT_MS, it.wallet, it.limit],
    )
}

/** What is recorded about a change: the rules that it changed, as answers show them. */
const changeOf = (requested: RulesChange, before: WalletRules, after: WalletRules) => {
  const [old, now] = [shownRules(before), shownRules(after)] as const
  const differing = (one: typeof old, other: typeof old) =>
    Object.fromEntries(
      Object.entries(one).filter(
        ([name, value]) =>
          JSON.stringify(value) !== JSON.stringify(Object.entries(other).find(([n]) => n === name)?.[1]),
      ),
    )
  if (requested.suspended !== undefined)
    return {
      what: requested.suspended === null ? 'account.resumed' : 'account.suspended',
      subject: 'account',
      before: { suspended: before.suspended ?? null },
      after: { suspended: after.suspended ?? null },
    }
  return {
    what: 'wallet.rules_changed',
    subject: 'rules',
    before: differing(old, now),
    after: differing(now, old),
  }
}

/** Makes a wallet's row, if there is none, and locks it. */
export const lockRules = async (run: Run, { now, lock }: SqlDialect, id: string) => {
  await run(
    `insert into wallet_rules (wallet_id, rules, version, changed_at) values ($1, '{}', 0, ${now})
     on conflict (wallet_id) do nothing`,
    [id],
  )
  return onlyRow(
    await run(`select r.*, ${now} as now from wallet_rules r where r.wallet_id = $1${lock('r')}`, [id]),
  )
}

/** Writes rules over those in a locked row, with all that follows from them. */
export const writeRules = async (
  run: Run,
  dialect: SqlDialect,
  row: Row,
  { walletId: id, rules, version }: KnownRules,
): Promise<void> => {
  const { now } = dialect
  const { rules: before } = knownRulesOf(row)
  const limit = rules.dailyLimit ?? null
  await run(
    `update wallet_rules set rules = $2, daily_limit = $3, version = $4, changed_at = ${now} where wallet_id = $1`,
    [id, textOfRules(rules), limit, version],
  )
  if (rules.alertBelow !== before.alertBelow || rules.alertWebhookUrl !== before.alertWebhookUrl)
    await setWalletAlert(run, dialect, id, rules)
  if (rules.dailyLimit !== before.dailyLimit)
    await setDailyLimit(run, { wallet: id, limit, now: countOf(row, 'now') })
}

const change = async <Refused extends Refusal>(
  engine: Engine,
  id: string,
  wanted: RulesChange | ((now: WalletRules, version: number) => RulesChange | Refused),
  by: Actor,
): Promise<KnownRules | Refused> =>
  engine.transaction('control', async (run) => {
    const row = await lockRules(run, engine.dialect, id)
    const before = knownRulesOf(row)
    const requested = typeof wanted === 'function' ? wanted(before.rules, before.version) : wanted
    if (requested instanceof Refusal) return requested
    const rules = changedRules(before.rules, requested)
    const known = { walletId: id, rules, version: before.version + 1 }
    await writeRules(run, engine.dialect, row, known)
    const renewed = requested.autoTopUp !== undefined
    if (renewed || requested.suspended !== undefined)
      await setTopUpRule(run, engine.dialect, id, { ...rules, renewed })
    await recordOfWallet(run, engine.dialect, {
      by,
      walletId: id,
      ...changeOf(requested, before.rules, rules),
    })
    return known
  })

const putBack = (engine: Engine, known: KnownRules): Promise<boolean> =>
  engine.transaction('control', async (run) => {
    const { walletId, rules, version } = known
    const [wallet] = await run('select id from account where id = $1', [walletId])
    if (wallet === undefined) return false
    const row = await lockRules(run, engine.dialect, walletId)
    const before = knownRulesOf(row)
    if (before.version >= version) return false
    await writeRules(run, engine.dialect, row, known)
    const renewed = !Bun.deepEquals(rules.autoTopUp, before.rules.autoTopUp)
    if (renewed || rules.suspended !== before.rules.suspended)
      await setTopUpRule(run, engine.dialect, walletId, { ...rules, renewed })
    await recordOfWallet(run, engine.dialect, {
      by: theHouse,
      walletId,
      ...changeOf({}, before.rules, rules),
    })
    return true
  })

const spentTodayOn = async (engine: Engine, id: string) => {
  const day = dayOf(await clockOf(engine))
  const leases = 'l.day = $2 and l.key_id in (select k.id from api_key k where k.wallet_id = $1)'
  const row = onlyRow(
    await once(
      engine,
      'control',
      `select coalesce((select b.used from budget b where b.scope = $3), 0)
             + ${usedOnLeases(leases)} as spent, ${heldOnLeases(leases)} as held`,
      id,
      day,
      dayScope(id, day),
    ),
  )
  return { spent: nanoOf(row, 'spent'), held: nanoOf(row, 'held') }
}

export const walletRulesStore = (engine: Engine): WalletRulesStore => ({
  spentToday: (id) => spentTodayOn(engine, id),
  walletRules: async (id) => {
    const [row] = await once(engine, 'control', 'select * from wallet_rules where wallet_id = $1', id)
    return row === undefined ? { walletId: id, rules: {}, version: 0 } : knownRulesOf(row)
  },
  changeWalletRules: async (id, wanted, by) => {
    const known = await change(engine, id, wanted, by)
    if (known instanceof Refusal) return known
    const row = onlyRow(await once(engine, 'control', `select ${engine.dialect.now} as now`))
    return { known, at: countOf(row, 'now') }
  },
  putRulesBack: (known) => putBack(engine, known),
})
