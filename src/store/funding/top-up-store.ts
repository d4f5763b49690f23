/** Wallets that are topped up automatically: when a payment is due, that it is made once, and what became of it. */
import { dayOf, nextDayStart, nextMonthStart } from '../../core/time.ts'
import { knownRulesOf } from '../accounts/wallet-rules-row.ts'
import { clockIn, clockOf } from '../engine/clock.ts'
import { oneOf, rowsOf } from '../engine/columns.ts'
import { AHEAD_MS, isDue } from '../engine/due.ts'
import { type Engine, once, type Row, type Run, runOne, type SqlDialect } from '../engine/engine.ts'
import { maybeText, onlyRow, textOf, truthOf } from '../engine/row.ts'
import { isHere, settledBalance } from '../ledger/sums.ts'
import type { Actor } from '../people/event-port.ts'
import { recordOfWallet } from '../people/event-store.ts'
import { checkouts, readyForTopUp, savedMethods, topUpSums, topUps } from './funding-rows.ts'
import { STOPPED_MS, stopIn } from './stop-top-ups.ts'
import type { DueTopUp, TopUpPause, TopUpStatus, TopUpStore } from './top-up-port.ts'
import { isOpen, openStates, type TopUpEvent, topUpAfter, topUpStates } from './top-up-states.ts'

/** A limit however small the amounts are: a rule that does not help must not charge all day. */
const MOST_A_DAY = 10
const ROUND = 20
/** Longer than Stripe's client tries one request; grows with every try, up to a maximum. */
const AGAIN_MS = 60_000
const AGAIN_LONGEST_MS = 3_600_000
/** Stripe forgets idempotency keys after 24 hours: from then on the same request could charge again. */
const GIVE_UP_MS = 20 * 3_600_000
const EVENT_LATE_MS = 600_000

/** What was charged, or may have been. */
const CHARGED = `(state in ('due', 'paid', 'credited', 'unknown') or (state = 'stopped' and tries > 0))`

/**
 * Selects wallets that are below their rule's amount, with nothing in the way of a payment. `at` is the database's
 * time. A wait longer than to the next day or month was set by a clock that was ahead and then corrected, so such
 * wallets are included.
 */
const readyWallets = ({ now }: SqlDialect, at: number): string =>
  `select t.wallet_id, t.customer, t.method, ${now} as now from auto_top_up t
  where t.below is not null and t.method is not null and t.paused is null
    and (t.waits_until <= ${now} or t.waits_until not in (${nextDayStart(at)}, ${nextMonthStart(at)}))
    and ${settledBalance('t.wallet_id')} < t.below and ${isHere('t.wallet_id')}
    and not exists (select 1 from top_up p where p.wallet_id = t.wallet_id
      and (p.state in (${openStates}) or (p.state = 'stopped' and p.tries > 0 and not ${isDue(now, 'p.next_at', STOPPED_MS)})))`

const sumsOf = async (run: Run, wallet: string, now: number) => {
  const day = dayOf(now)
  const row = onlyRow(
    await run(
      `select coalesce(cast(sum(case when day = $2 and ${CHARGED} then amount else 0 end) as bigint), 0) as today,
         coalesce(cast(sum(case when ${CHARGED} then amount else 0 end) as bigint), 0) as month,
         coalesce(cast(sum(case when state in (${openStates}) then amount else 0 end) as bigint), 0) as pending,
         coalesce(cast(sum(case when day = $2 and (${CHARGED} or state = 'declined') then 1 else 0 end) as bigint), 0) as made
       from top_up where wallet_id = $1 and day between $3 and $2`,
      [wallet, day, `${day.slice(0, 7)}-01`],
    ),
  )
  return topUpSums.read(row)
}

type DueQuery = Parameters<TopUpStore['dueTopUps']>[0]

/** Writes one payment for the wallet, if it is still due once the wallet's rule is locked. */
const openIn = async (
  run: Run,
  dialect: SqlDialect,
  wallet: string,
  { newId, dailyMax }: DueQuery,
): Promise<void> => {
  await run(`select t.wallet_id from auto_top_up t where t.wallet_id = $1${dialect.lock('t')}`, [wallet])
  // One snapshot, newer than the lock: it shows both that a payment is over and its money in the wallet, or neither.
  const [ready] = await run(`${readyWallets(dialect, await clockIn(run, dialect))} and t.wallet_id = $1`, [
    wallet,
  ])
  const [rules] = await run('select * from wallet_rules where wallet_id = $1', [wallet])
  if (ready === undefined || rules === undefined) return
  const rule = knownRulesOf(rules).rules.autoTopUp
  if (rule === undefined) return
  const { now, customer, method } = readyForTopUp.read(ready)
  const { amount, monthlyMax } = rule
  // What was charged under a clock that was ahead counts as of today.
  await run('update top_up set day = $2 where wallet_id = $1 and day > $2', [wallet, dayOf(now)])
  const { today, month, made } = await sumsOf(run, wallet, now)
  const until =
    monthlyMax !== undefined && month + amount > monthlyMax
      ? nextMonthStart(now)
      : made >= MOST_A_DAY || today + amount > dailyMax
        ? nextDayStart(now)
        : 0
  if (until > 0) {
    await run('update auto_top_up set waits_until = $2 where wallet_id = $1', [wallet, until])
    return
  }
  const id = newId()
  await runOne(
    run,
    checkouts.insert('checkout', { id, walletId: wallet, amount }, { created_at: (bind) => bind(now) }),
  )
  await runOne(
    run,
    topUps.insert('top_up', {
      id,
      walletId: wallet,
      customer,
      method,
      amount,
      day: dayOf(now),
      nextAt: now,
      madeAt: now,
    }),
  )
}

/** Pauses the rule, unless its owner has saved another payment method since. */
const pauseIn = (run: Run, id: string, reason: TopUpPause): Promise<unknown> =>
  run(
    `update auto_top_up set paused = $2
     where exists (select 1 from top_up p where p.id = $1 and p.wallet_id = auto_top_up.wallet_id and p.method = auto_top_up.method)`,
    [id, reason],
  )

type TopUpAnswer = Parameters<TopUpStore['topUpAnswered']>[1]

const eventOf = (outcome: TopUpAnswer): TopUpEvent =>
  outcome === 'paid' ? 'paid' : outcome === 'outcome_unknown' ? 'lost' : 'declined'

const states = rowsOf({ state: oneOf('state', topUpStates) })

const answeredIn = async (
  run: Run,
  dialect: SqlDialect,
  id: string,
  outcome: TopUpAnswer,
): Promise<boolean> => {
  const [row] = await run('select wallet_id from top_up where id = $1', [id])
  if (row === undefined) return false
  await run(`select t.wallet_id from auto_top_up t where t.wallet_id = $1${dialect.lock('t')}`, [
    textOf(row, 'wallet_id'),
  ])
  const known = onlyRow(await run(`select p.state from top_up p where p.id = $1${dialect.lock('p')}`, [id]))
  const state = states.read(known).state
  const event = eventOf(outcome)
  if (outcome !== 'paid' && isOpen(state)) await pauseIn(run, id, outcome)
  const after = topUpAfter(state, event)
  if (after !== undefined)
    await run(`update top_up set state = $2, next_at = ${dialect.now} + ${EVENT_LATE_MS} where id = $1`, [
      id,
      after,
    ])
  return state !== 'credited'
}

const dueOf = (row: Row): DueTopUp => {
  const { id, amount, customer, method, state } = topUps.read(row)
  return { id, amount, customer, method, waitsFor: state === 'due' ? 'answer' : 'event' }
}

/** Gives up payments that Stripe has not answered for too long. */
const endLost = async (engine: Engine): Promise<void> => {
  const { dialect } = engine
  // A payment made under a clock that was ahead would be given up too late.
  const madeAhead = `state = 'due' and made_at > ${dialect.now} + ${AHEAD_MS}`
  await once(engine, 'control', `update top_up set made_at = ${dialect.now} where ${madeAhead}`)
  const lost = `select id from top_up where state = 'due' and tries > 0 and made_at <= ${dialect.now} - ${GIVE_UP_MS} limit ${ROUND}`
  for (const row of await once(engine, 'control', lost))
    await engine.transaction('control', (run) =>
      answeredIn(run, dialect, textOf(row, 'id'), 'outcome_unknown'),
    )
}

const dueOn = async (engine: Engine, query: DueQuery): Promise<readonly DueTopUp[]> => {
  const { dialect } = engine
  await endLost(engine)
  const ready = readyWallets(dialect, await clockOf(engine))
  for (const row of await once(engine, 'control', `${ready} limit ${ROUND}`))
    await engine.transaction('control', (run) => openIn(run, dialect, textOf(row, 'wallet_id'), query))
  const wait = `case when state = 'paid' or tries > 6 then ${AGAIN_LONGEST_MS} else ${AGAIN_MS} * (tries + 1) * (tries + 1) end`
  const rows = await once(
    engine,
    'control',
    `update top_up set tries = tries + 1, next_at = ${dialect.now} + ${wait}
       where state in (${openStates}) and ${isDue(dialect.now, 'next_at', AGAIN_LONGEST_MS)} returning *`,
  )
  return rows.map(dueOf)
}

/** Records, in the transaction that credits a payment, that the payment is over. */
export const topUpCredited = async (run: Run, { lock }: SqlDialect, id: string): Promise<void> => {
  const [row] = await run(`select p.wallet_id, p.state from top_up p where p.id = $1${lock('p')}`, [id])
  if (row === undefined) return
  const state = states.read(row).state
  const after = topUpAfter(state, 'credit')
  if (after !== undefined) await run('update top_up set state = $2 where id = $1', [id, after])
  if (state !== 'unknown') return
  await run(`update auto_top_up set paused = null where wallet_id = $1 and paused = 'outcome_unknown'`, [
    textOf(row, 'wallet_id'),
  ])
}

type Saved = Parameters<TopUpStore['savePaymentMethod']>[0]

const saveIn = async (
  run: Run,
  dialect: SqlDialect,
  { checkoutId, customer, method, at }: Saved,
): Promise<void> => {
  // A repeated event must not end a pause that came after it.
  const [saved] = await run(
    `insert into auto_top_up (wallet_id, customer, method, method_at)
     select o.wallet_id, $2, $3, cast($4 as bigint) from checkout o where o.id = $1
     on conflict (wallet_id) do update set customer = excluded.customer, method = excluded.method,
       method_at = excluded.method_at, paused = null
     where auto_top_up.method_at < excluded.method_at returning wallet_id`,
    [checkoutId, customer, method, at],
  )
  if (saved !== undefined) await stopIn(run, dialect, textOf(saved, 'wallet_id'), false)
}

const forgetIn = async (
  run: Run,
  dialect: SqlDialect,
  wallet: string,
  by: Actor,
): Promise<string | undefined> => {
  const [row] = await run(`select t.method from auto_top_up t where t.wallet_id = $1${dialect.lock('t')}`, [
    wallet,
  ])
  const method = row === undefined ? undefined : maybeText(row, 'method')
  if (method === undefined) return undefined
  // The time of saving stays, so that a copy of the same event does not bring the method back.
  await run('update auto_top_up set method = null where wallet_id = $1', [wallet])
  await stopIn(run, dialect, wallet, true)
  await recordOfWallet(run, dialect, { by, walletId: wallet, what: 'wallet.card_removed', subject: wallet })
  return method
}

const statusIn = async (run: Run, dialect: SqlDialect, wallet: string): Promise<TopUpStatus> => {
  const [row] = await run(
    `select t.*, case when t.below is not null and t.method is not null and t.paused is null then 1 else 0 end as active
     from auto_top_up t where t.wallet_id = $1`,
    [wallet],
  )
  const now = await clockIn(run, dialect)
  const { made: _made, ...money } = await sumsOf(run, wallet, now)
  if (row === undefined) return { saved: false, active: false, ...money }
  const { method, waitsUntil, ...saved } = savedMethods.read(row)
  return {
    saved: method !== undefined,
    active: truthOf(row, 'active'),
    ...money,
    ...saved,
    ...(waitsUntil > now ? { waitsUntil } : {}),
  }
}

export const topUpStore = (engine: Engine): TopUpStore => {
  const { dialect } = engine
  const inOne = <T>(work: (run: Run) => Promise<T>): Promise<T> => engine.transaction('control', work)
  return {
    topUpStatus: (walletId) => inOne((run) => statusIn(run, dialect, walletId)),
    savePaymentMethod: (saved) => inOne((run) => saveIn(run, dialect, saved)),
    forgetPaymentMethod: (walletId, by) => inOne((run) => forgetIn(run, dialect, walletId, by)),
    dueTopUps: (query) => dueOn(engine, query),
    topUpAnswered: (id, outcome) => inOne((run) => answeredIn(run, dialect, id, outcome)),
  }
}
