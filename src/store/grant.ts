/** Grants: a lease grows, or the answer says which limit binds. One transaction under the locks of every meter. */
import { greatest } from '../core/money.ts'
import { type Instant, nextDayStart } from '../core/time.ts'
import { type Ask, growth, type Meter, shortMeters, verdictOf, WALLET_MINIMUM } from '../ledger/grant.ts'
import type { GrantAsk, Granted, GrantRefused } from '../ledger/words.ts'
import { isEnabled } from '../tenancy/key.ts'
import type { Engine, Row, Run, Words } from './engine.ts'
import { fence } from './fence.ts'
import { fold } from './fold.ts'
import { besideOf, type Line, type Locked, lockLine, lockMeters, metersOf } from './grant-meters.ts'
import { barOf } from './payer.ts'
import { countOf, onlyRow, textOf } from './row.ts'
import { recall, shortageOf, under } from './shortage.ts'
import { mayUseSub } from './sub-wallet-store.ts'

const refused = (
  outcome: GrantRefused['outcome'],
  { need = 0n }: GrantAsk,
  limit?: NonNullable<GrantRefused['limit']>,
): GrantRefused => ({
  outcome,
  ...(limit === undefined ? {} : { limit }),
  required: need,
  available: 0n,
  held: 0n,
})

/** A block by the monthly cap ends with its month. */
const liftMonthlyBlock = async (run: Run, words: Words, { key }: Line): Promise<void> => {
  if (key.disabledReason === undefined) return
  await run(
    `update api_key set disabled_reason = null, disabled_month = null, version = version + 1, changed_at = ${words.now}
     where id = $1`,
    [key.id],
  )
}

/** Switches off the keys whose caps are exhausted; a lifetime cap's reason wins over a month's. Tells the new version of `line.key`. */
const disable = async (
  run: Run,
  words: Words,
  line: Line,
  exhausted: ReturnType<typeof verdictOf>['exhausted'],
): Promise<number | undefined> => {
  let version: number | undefined
  for (const key of [line.key, ...line.makers]) {
    const own = exhausted.filter(({ owner }) => owner === key.id)
    if (own.length === 0 || !isEnabled(key, line.month)) continue
    const monthly = own.every(({ limit }) => limit === 'monthly_cap_usd')
    const rows = await run(
      `update api_key set disabled_reason = $2, disabled_month = $3, version = version + 1, changed_at = ${words.now}
       where id = $1 returning version`,
      [key.id, monthly ? 'monthly_cap' : 'spend_cap', monthly ? line.month : null],
    )
    if (key === line.key) version = countOf(onlyRow(rows), 'version')
  }
  return version
}

const refuse = async (
  run: Run,
  words: Words,
  it: { grant: GrantAsk; ask: Ask; line: Line; locked: Locked; short: readonly [Meter, ...Meter[]] },
): Promise<GrantRefused> => {
  const { grant, ask, line, locked, short } = it
  const own = locked.lease === undefined ? '' : textOf(locked.lease, 'id')
  const [firstMeter, ...restMeters] = short
  const underOf = (meter: Meter) => under(meter, { account: line.account, wallet: line.key.walletId, own })
  const shortage = (meter: Meter) => shortageOf(run, meter, underOf(meter), locked)
  const first = await shortage(firstMeter)
  const rest = await Promise.all(restMeters.map(shortage))
  const verdict = verdictOf([first, ...rest], ask, grant.useful)
  if (verdict.outcome === 'recall') {
    for (const meter of short) await recall(run, words, underOf(meter))
  }
  const version = await disable(run, words, line, verdict.exhausted)
  const { meter, held, idle } = verdict.binding
  const whole = (grant.need ?? 0n) + ask.ownUnused
  return {
    outcome: verdict.outcome,
    limit: meter.limit,
    ...(meter.owner === undefined ? {} : { owner: meter.owner }),
    required: meter.limit === 'wallet' ? greatest(whole, ask.minimum) : whole,
    // What is astray is idle, and unused room of the own lease.
    available: greatest(meter.room + ask.ownUnused + idle - locked.astray, 0n),
    held,
    ...(locked.astray > 0n ? { astray: locked.astray } : {}),
    ...(version === undefined ? {} : { keyVersion: version }),
  }
}

/** A lease id that was used before and is closed cannot open again; the answer tells the id that was taken instead. */
const openLease = async (run: Run, grant: GrantAsk, line: Line, now: Instant): Promise<string> => {
  const insert = async (id: string): Promise<boolean> => {
    const rows = await run(
      `insert into lease (id, instance, key_id, wallet_id, sub_id, month, day, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing returning id`,
      [id, grant.instance, line.key.id, line.account, line.sub ?? null, line.month, line.day, now],
    )
    return rows.length > 0
  }
  if (await insert(grant.leaseId)) return grant.leaseId
  const other = `${grant.leaseId.split('+')[0]}+${now.toString(36)}`
  if (await insert(other)) return other
  throw new Error(`lease ${other} exists already`)
}

/** Fences the own lease, so that room of it that went astray is free again. */
const giveUp = async (
  run: Run,
  words: Words,
  { grant, line, locked }: { grant: GrantAsk; line: Line; locked: Locked },
): Promise<Locked> => {
  if (locked.lease === undefined) return locked
  await fence(run, locked.lease)
  return lockMeters(run, words, grant, line)
}

const grow = async (
  run: Run,
  it: { grant: GrantAsk; ask: Ask; line: Line; locked: Locked; account: Row; meters: readonly Meter[] },
): Promise<Granted> => {
  const { grant, ask, line, locked, account, meters } = it
  const beside = besideOf(locked, account, line)
  const { grown, tight } = growth(meters, ask)
  const leaseId =
    locked.lease === undefined ? await openLease(run, grant, line, locked.now) : textOf(locked.lease, 'id')
  const expires = Math.min(locked.now + grant.ttlMs, nextDayStart(line.now))
  await Promise.all([
    ...fold(leaseId, grown, 'open').map(({ text, params }) => run(text, params)),
    run('update lease set expires_at = $2 where id = $1', [leaseId, expires]),
  ])
  return {
    outcome: 'granted',
    leaseId,
    grown,
    lifeMs: expires - locked.now,
    tight,
    ...(beside === undefined ? {} : { beside: beside - grown }),
  }
}

/** Grows the lease of one spending path by what the call needs and the limits allow, or says what binds. */
export const grantIn = (engine: Engine, grant: GrantAsk): Promise<Granted | GrantRefused> =>
  engine.transaction('control', async (run) => {
    const { words } = engine
    const line = await lockLine(run, words, grant)
    if (line === undefined) return refused('unknown_key', grant)
    if (!isEnabled(line.key, line.month)) return refused('disabled', grant)
    if (grant.sub !== undefined && !(await mayUseSub(run, line.key, grant.sub)))
      return refused('unknown_sub', grant)
    await liftMonthlyBlock(run, words, line)
    const found = await lockMeters(run, words, grant, line)
    const locked = grant.anew === true ? await giveUp(run, words, { grant, line, locked: found }) : found
    const { account } = locked
    const bar = barOf(account, line.key.walletId, line.now)
    if (account === undefined || bar !== undefined) return refused('spent', grant, bar)
    const minimum = grant.goesOn === true ? 0n : WALLET_MINIMUM
    const ask: Ask = { need: grant.need, want: grant.want, ownUnused: locked.ownUnused, minimum }
    const meters = metersOf(locked, account, line)
    const [first, ...rest] = shortMeters(meters, ask)
    if (first === undefined) return grow(run, { grant, ask, line, locked, account, meters })
    return refuse(run, words, { grant, ask, line, locked, short: [first, ...rest] })
  })
