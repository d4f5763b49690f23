/**
 * Anonymous trials: one claim per origin, and all claims of a day within the house's budget. When a trial ends, what is
 * left returns to the house.
 */
import { least } from '../../core/money.ts'
import { type Day, dayOf, type Instant, nextDayStart } from '../../core/time.ts'
import { clockIn, clockOf } from '../engine/clock.ts'
import { integer, maybe, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Run, type SqlDialect, statement } from '../engine/engine.ts'
import { nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { postIn } from '../ledger/post.ts'
import type { TrialOutcome, TrialRequest, TrialStore } from './community-port.ts'
import { insertKey } from './new-key.ts'

const claims = rowsOf({
  origin: text('origin'),
  walletId: text('wallet_id'),
  keyId: text('key_id'),
  attempt: maybe(text('attempt')),
  amount: nano('amount'),
  claimedAt: integer('claimed_at'),
  expiresAt: integer('expires_at'),
})

/** Rolls back a claim that the day's budget does not cover. */
class Exhausted extends Error {}

/**
 * Takes the origin's claim, or returns its earlier one when it is too soon for another. Of several at once, one takes
 * it.
 */
const takeClaim = async (run: Run, ask: TrialRequest, now: Instant): Promise<TrialOutcome | undefined> => {
  const { origin, originBefore, key, attempt, amount } = ask
  if (originBefore !== undefined)
    await run(
      `update trial_claim set origin = $1
       where origin = $2 and not exists (select 1 from trial_claim as now where now.origin = $1)`,
      [origin, originBefore],
    )
  const { text: insert, params } = claims.insert('trial_claim', {
    origin,
    walletId: key.walletId,
    keyId: key.id,
    attempt,
    amount,
    claimedAt: now,
    expiresAt: now + ask.lifeMs,
  })
  const inserted = await run(
    `${insert}
     on conflict (origin) do update set wallet_id = excluded.wallet_id, key_id = excluded.key_id,
       attempt = excluded.attempt, amount = excluded.amount, claimed_at = excluded.claimed_at,
       expires_at = excluded.expires_at, ended = 0
     where trial_claim.claimed_at <= $${params.length + 1} returning origin`,
    [...params, now - ask.againMs],
  )
  if (inserted.length > 0) return undefined
  const before = claims.read(onlyRow(await run('select * from trial_claim where origin = $1', [origin])))
  const { walletId, expiresAt } = before
  if (attempt !== undefined && before.attempt === attempt && now < expiresAt)
    return { outcome: 'granted', walletId, amount: before.amount, expiresAt }
  return { outcome: 'claimed', retryAfterMs: before.claimedAt + ask.againMs - now }
}

/** Takes the amount out of the day's budget for all trials. A lower budget applies from now on. */
const takeBudget = async (run: Run, { amount, dailyAmount }: TrialRequest, day: Day): Promise<void> => {
  await run(
    `insert into trial_day (day, granted, lim) values ($1, 0, $2) on conflict (day) do update
       set lim = case when excluded.lim < trial_day.granted then trial_day.granted else excluded.lim end`,
    [day, dailyAmount],
  )
  const granted = await run(
    `update trial_day set granted = granted + cast($2 as bigint)
     where day = $1 and granted + cast($2 as bigint) <= lim returning day`,
    [day, amount],
  )
  if (granted.length === 0) throw new Exhausted()
}

const grantIn = async (run: Run, dialect: SqlDialect, ask: TrialRequest): Promise<TrialOutcome> => {
  const now = await clockIn(run, dialect)
  const day = dayOf(now)
  const before = await takeClaim(run, ask, now)
  if (before !== undefined) return before
  await takeBudget(run, ask, day)
  const { key, amount, lifeMs } = ask
  await run(
    `insert into account (id, bounded, org_id, name, created_at) values ($1, 1, $2, 'anonymous trial', $3)`,
    [key.walletId, key.orgId, now],
  )
  await postIn(run, dialect, {
    kind: 'grant',
    ref: `trial:${day}:${key.walletId}`,
    debit: 'promo',
    credit: key.walletId,
    amount,
  })
  await insertKey(run, dialect, { ...key, trialUntil: now + lifeMs })
  return { outcome: 'granted', walletId: key.walletId, amount, expiresAt: now + lifeMs }
}

export const trialStore = (engine: Engine): TrialStore => ({
  claimTrial: async (ask) => {
    try {
      return await engine.transaction('control', (run) => grantIn(run, engine.dialect, ask))
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error
      const now = await clockOf(engine)
      return { outcome: 'exhausted', retryAfterMs: nextDayStart(now) - now }
    }
  },
  trialsToday: async () => {
    const today = statement('select granted from trial_day where day = $1', dayOf(await clockOf(engine)))
    const [row] = await once(engine, 'control', today)
    return row === undefined ? 0n : nanoOf(row, 'granted')
  },
})

const ROUND = 50

/** What came into a wallet and did not go back, beside its trial and its calls. */
const PAID_IN = `select
  coalesce((select cast(sum(t.amount) as bigint) from transfer t where t.credit = $1 and t.kind <> 'usage'
    and t.kind <> 'refund' and not (t.kind = 'grant' and t.ref like 'trial:%')), 0)
  - coalesce((select cast(sum(t.amount) as bigint) from transfer t where t.debit = $1 and t.kind <> 'usage'), 0) as paid`

/** What is left of ended trials returns to the house, once no lease holds any of it. */
export const endTrials = async (engine: Engine): Promise<void> => {
  const { now, lock } = engine.dialect
  const over = await once(
    engine,
    'control',
    `select c.wallet_id, c.amount from trial_claim c join account a on a.id = c.wallet_id
       where c.ended = 0 and c.expires_at < ${now} and a.held = 0 and a.cell is null order by c.expires_at limit ${ROUND}`,
  )
  for (const row of over) {
    const wallet = textOf(row, 'wallet_id')
    await engine.transaction('control', async (run) => {
      const [account] = await run(`select a.balance, a.held from account a where a.id = $1${lock('a')}`, [
        wallet,
      ])
      if (account === undefined || nanoOf(account, 'held') !== 0n) return
      // Money that somebody paid in stays in the wallet: calls used what the trial got first.
      const paid = nanoOf(onlyRow(await run(PAID_IN, [wallet])), 'paid')
      const balance = nanoOf(account, 'balance')
      const left = least(least(balance, balance - paid), nanoOf(row, 'amount'))
      if (left > 0n)
        await postIn(run, engine.dialect, {
          kind: 'adjust',
          ref: `trial-end:${wallet}`,
          debit: wallet,
          credit: 'promo',
          amount: left,
        })
      await run('update trial_claim set ended = 1 where wallet_id = $1', [wallet])
    })
  }
}
