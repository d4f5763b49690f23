/** Wallets that are topped up by themselves: when a payment is due, that there is one, and what became of it. */
import { dayOf, nextDayStart, nextMonthStart } from '../core/time.ts'
import type { AutoTopUp } from '../tenancy/wallet-rules.ts'
import { type Engine, once, type Row, type Run, statement, type Words } from './engine.ts'
import { countOf, maybeText, nanoOf, onlyRow, textOf, truthOf } from './row.ts'
import { settledBalance } from './settled-balance.ts'
import {
  type DueTopUp,
  type TopUpPause,
  type TopUpStatus,
  type TopUpStore,
  topUpPauses,
} from './top-up-port.ts'
import { knownRulesOf } from './wallet-rules-row.ts'

/** However small the amounts: a rule that does not help must not charge all day. */
const MOST_A_DAY = 10
const ROUND = 20
/** Longer than the client of Stripe tries one request; grows with every try up to the longest. */
const AGAIN_MS = 60_000
const AGAIN_LONGEST_MS = 3_600_000
/** Stripe forgets idempotency keys after 24 hours: from then on the same request could charge again. */
const GIVE_UP_MS = 20 * 3_600_000
const EVENT_LATE_MS = 600_000
/** A stopped payment that Stripe may have taken holds the next one off this long: its event comes in seconds. */
const STOPPED_MS = 3_600_000

/** What was charged, or may have been. */
const CHARGED = `(state in ('due', 'paid', 'credited', 'unknown') or (state = 'stopped' and tries > 0))`

/** Selects wallets that are below their rule's amount, with nothing in the way of a payment. */
const readyWallets = ({ now }: Words): string =>
  `select t.wallet_id, t.customer, t.method, ${now} as now from auto_top_up t
  where t.below is not null and t.method is not null and t.paused is null and t.waits_until <= ${now}
    and ${settledBalance('t.wallet_id')} < t.below
    and not exists (select 1 from top_up p where p.wallet_id = t.wallet_id
      and (p.state in ('due', 'paid') or (p.state = 'stopped' and p.tries > 0 and p.next_at > ${now})))`

const sumsOf = async (run: Run, wallet: string, now: number) => {
  const day = dayOf(now)
  const row = onlyRow(
    await run(
      `select coalesce(cast(sum(case when day = $2 and ${CHARGED} then amount else 0 end) as bigint), 0) as today,
         coalesce(cast(sum(case when ${CHARGED} then amount else 0 end) as bigint), 0) as month,
         coalesce(cast(sum(case when state in ('due', 'paid') then amount else 0 end) as bigint), 0) as pending,
         coalesce(cast(sum(case when day = $2 and (${CHARGED} or state = 'declined') then 1 else 0 end) as bigint), 0) as made
       from top_up where wallet_id = $1 and day between $3 and $2`,
      [wallet, day, `${day.slice(0, 7)}-01`],
    ),
  )
  const [today, month, pending] = [nanoOf(row, 'today'), nanoOf(row, 'month'), nanoOf(row, 'pending')]
  return { today, month, pending, made: countOf(row, 'made') }
}

type Asked = Parameters<TopUpStore['dueTopUps']>[0]

/** Writes one payment for the wallet, if it is still due once the wallet's rule is locked. */
const openIn = async (run: Run, words: Words, wallet: string, { newId, dailyMax }: Asked): Promise<void> => {
  await run(`select t.wallet_id from auto_top_up t where t.wallet_id = $1${words.lock('t')}`, [wallet])
  // One snapshot, newer than the lock: it has both that a payment is over and its money in the wallet, or neither.
  const [ready] = await run(`${readyWallets(words)} and t.wallet_id = $1`, [wallet])
  const [rules] = await run('select * from wallet_rules where wallet_id = $1', [wallet])
  if (ready === undefined || rules === undefined) return
  const rule = knownRulesOf(rules).rules.autoTopUp
  if (rule === undefined) return
  const now = countOf(ready, 'now')
  const { amount, monthlyMax } = rule
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
  await run('insert into checkout (id, wallet_id, amount, created_at) values ($1, $2, $3, $4)', [
    id,
    wallet,
    amount,
    now,
  ])
  await run(
    `insert into top_up (id, wallet_id, customer, method, amount, day, next_at, made_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7)`,
    [id, wallet, textOf(ready, 'customer'), textOf(ready, 'method'), amount, dayOf(now), now],
  )
}

/** Pauses the rule, unless its owner has saved another payment method since. */
const pauseIn = (run: Run, id: string, reason: TopUpPause): Promise<unknown> =>
  run(
    `update auto_top_up set paused = $2, alert_state = 'due', alert_id = $1, alert_tries = 0, alert_next_at = 0
     where exists (select 1 from top_up p where p.id = $1 and p.wallet_id = auto_top_up.wallet_id and p.method = auto_top_up.method)`,
    [id, reason],
  )

type Outcome = Parameters<TopUpStore['topUpAnswered']>[1]

const answeredIn = async (run: Run, words: Words, id: string, outcome: Outcome): Promise<boolean> => {
  const [row] = await run('select wallet_id from top_up where id = $1', [id])
  if (row === undefined) return false
  await run(`select t.wallet_id from auto_top_up t where t.wallet_id = $1${words.lock('t')}`, [
    textOf(row, 'wallet_id'),
  ])
  const known = onlyRow(await run(`select p.state from top_up p where p.id = $1${words.lock('p')}`, [id]))
  const state = textOf(known, 'state')
  const open = state === 'due' || state === 'paid'
  if (state === 'credited') return false
  if (outcome !== 'paid' && open) await pauseIn(run, id, outcome)
  // A payment that was given up or declined is not opened again; if it was paid, its event credits it all the same.
  if (outcome === 'paid' && !open && state !== 'stopped') return true
  const after = outcome === 'paid' ? 'paid' : outcome === 'outcome_unknown' ? 'unknown' : 'declined'
  await run(`update top_up set state = $2, next_at = ${words.now} + ${EVENT_LATE_MS} where id = $1`, [
    id,
    after,
  ])
  return true
}

const dueOf = (row: Row): DueTopUp => ({
  id: textOf(row, 'id'),
  amount: nanoOf(row, 'amount'),
  customer: textOf(row, 'customer'),
  method: textOf(row, 'method'),
  waitsFor: textOf(row, 'state') === 'due' ? 'answer' : 'event',
})

/** Gives up what was asked for without an answer for too long. */
const endLost = async (engine: Engine): Promise<void> => {
  const { words } = engine
  const lost = `select id from top_up where state = 'due' and tries > 0 and made_at <= ${words.now} - ${GIVE_UP_MS} limit ${ROUND}`
  for (const row of await once(engine, 'control', statement(lost)))
    await engine.transaction('control', (run) => answeredIn(run, words, textOf(row, 'id'), 'outcome_unknown'))
}

const dueOn = async (engine: Engine, asked: Asked): Promise<readonly DueTopUp[]> => {
  const { words } = engine
  await endLost(engine)
  for (const row of await once(engine, 'control', statement(`${readyWallets(words)} limit ${ROUND}`)))
    await engine.transaction('control', (run) => openIn(run, words, textOf(row, 'wallet_id'), asked))
  const wait = `case when state = 'paid' or tries > 6 then ${AGAIN_LONGEST_MS} else ${AGAIN_MS} * (tries + 1) * (tries + 1) end`
  const rows = await once(
    engine,
    'control',
    statement(
      `update top_up set tries = tries + 1, next_at = ${words.now} + ${wait}
       where state in ('due', 'paid') and next_at <= ${words.now} returning *`,
    ),
  )
  return rows.map(dueOf)
}

/** Follows a change of the wallet's rule: a new one ends a pause, one that is gone stops what is not paid yet. */
export const setTopUpRule = async (
  run: Run,
  words: Words,
  wallet: string,
  rule: AutoTopUp | undefined,
): Promise<void> => {
  await run(
    `insert into auto_top_up (wallet_id, below) values ($1, $2)
     on conflict (wallet_id) do update set below = excluded.below, waits_until = 0, paused = null, alert_state = 'done'`,
    [wallet, rule?.below ?? null],
  )
  await stopIn(run, words, wallet, rule === undefined)
}

/** Stops payments that Stripe was not asked for yet; with `all` also those that it was asked for without an answer. */
const stopIn = (run: Run, { now }: Words, wallet: string, all: boolean): Promise<unknown> =>
  run(
    `update top_up set state = 'stopped', next_at = ${now} + ${STOPPED_MS}
     where wallet_id = $1 and state = 'due' and (tries = 0 or $2 = 1)`,
    [wallet, all ? 1 : 0],
  )

/** Pauses the rule in the transaction that takes a payment back: a refund must not be charged again at once. */
export const pauseTopUps = async (run: Run, words: Words, wallet: string, id: string): Promise<void> => {
  await run(
    `update auto_top_up set paused = 'payment_taken_back', alert_state = 'due', alert_id = $2, alert_tries = 0,
       alert_next_at = 0
     where wallet_id = $1 and below is not null and method is not null and paused is null`,
    [wallet, id],
  )
  await stopIn(run, words, wallet, false)
}

/** Notes in the transaction that credits a payment that it is over. */
export const topUpCredited = async (run: Run, { lock }: Words, id: string): Promise<void> => {
  const [row] = await run(`select p.wallet_id, p.state from top_up p where p.id = $1${lock('p')}`, [id])
  if (row === undefined) return
  await run(`update top_up set state = 'credited' where id = $1`, [id])
  if (textOf(row, 'state') !== 'unknown') return
  await run(
    `update auto_top_up set paused = null, alert_state = 'done' where wallet_id = $1 and paused = 'outcome_unknown'`,
    [textOf(row, 'wallet_id')],
  )
}

type Saved = Parameters<TopUpStore['savePaymentMethod']>[0]

const saveIn = async (run: Run, words: Words, { checkoutId, customer, method, at }: Saved): Promise<void> => {
  // An event that comes again must not end a pause that came after it.
  const [saved] = await run(
    `insert into auto_top_up (wallet_id, customer, method, method_at)
     select o.wallet_id, $2, $3, cast($4 as bigint) from checkout o where o.id = $1
     on conflict (wallet_id) do update set customer = excluded.customer, method = excluded.method,
       method_at = excluded.method_at, paused = null, alert_state = 'done'
     where auto_top_up.method_at < excluded.method_at returning wallet_id`,
    [checkoutId, customer, method, at],
  )
  if (saved !== undefined) await stopIn(run, words, textOf(saved, 'wallet_id'), false)
}

const forgetIn = async (run: Run, words: Words, wallet: string): Promise<string | undefined> => {
  const [row] = await run(`select t.method from auto_top_up t where t.wallet_id = $1${words.lock('t')}`, [
    wallet,
  ])
  if (row === undefined) return undefined
  // When it was saved stays, so that a copy of the event that told of it does not bring it back.
  await run('update auto_top_up set method = null where wallet_id = $1', [wallet])
  await stopIn(run, words, wallet, true)
  return maybeText(row, 'method')
}

const statusIn = async (run: Run, words: Words, wallet: string): Promise<TopUpStatus> => {
  const [row] = await run(
    `select t.*, case when t.below is not null and t.method is not null and t.paused is null then 1 else 0 end as active
     from auto_top_up t where t.wallet_id = $1`,
    [wallet],
  )
  const now = countOf(onlyRow(await run(`select ${words.now} as now`)), 'now')
  const { made: _made, ...money } = await sumsOf(run, wallet, now)
  if (row === undefined) return { saved: false, active: false, ...money }
  const customer = maybeText(row, 'customer')
  const paused = topUpPauses.find((reason) => reason === row.paused)
  const waitsUntil = countOf(row, 'waits_until')
  return {
    saved: row.method !== null,
    active: truthOf(row, 'active'),
    ...money,
    ...(customer === undefined ? {} : { customer }),
    ...(paused === undefined ? {} : { paused }),
    ...(waitsUntil > now ? { waitsUntil } : {}),
  }
}

export const topUpStore = (engine: Engine): TopUpStore => {
  const { words } = engine
  const inOne = <T>(work: (run: Run) => Promise<T>): Promise<T> => engine.transaction('control', work)
  return {
    topUpStatus: (walletId) => inOne((run) => statusIn(run, words, walletId)),
    savePaymentMethod: (saved) => inOne((run) => saveIn(run, words, saved)),
    forgetPaymentMethod: (walletId) => inOne((run) => forgetIn(run, words, walletId)),
    dueTopUps: (asked) => dueOn(engine, asked),
    topUpAnswered: (id, outcome) => inOne((run) => answeredIn(run, words, id, outcome)),
  }
}
