/** Grants: a lease grows, or the answer says which limit binds. One transaction under the locks of every meter. */
import { greatest, type Nano } from '../core/money.ts'
import { type Instant, type Month, monthOf, nextMonthStart } from '../core/time.ts'
import {
  type Ask,
  growth,
  type Meter,
  type Shortage,
  shortMeters,
  verdictOf,
  WALLET_MINIMUM,
} from '../ledger/grant.ts'
import { lifetimeScope, monthScope, scopesOf } from '../ledger/scopes.ts'
import type { GrantAsk, Granted, GrantRefused } from '../ledger/words.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import type { Engine, Row, Run, Words } from './engine.ts'
import { fold } from './fold.ts'
import { keyOf } from './key-row.ts'
import { countOf, maybeNano, nanoOf, onlyRow, textOf } from './row.ts'

type Line = {
  readonly key: Key
  readonly makers: readonly Key[]
  readonly now: Instant
  readonly month: Month
}

const refused = (outcome: GrantRefused['outcome'], required: Nano): GrantRefused => ({
  outcome,
  required,
  available: 0n,
  held: 0n,
})

/** Locks the key and its makers, whose caps bind it too. */
const lockLine = async (run: Run, words: Words, keyId: string): Promise<Line | undefined> => {
  const rows = await run(
    `select k.*, ${words.now} as now from api_key k join key_line n on n.owner_id = k.id
     where n.key_id = $1 order by k.id${words.lock('k')}`,
    [keyId],
  )
  const keys = rows.map(keyOf)
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined || key.deleted) return undefined
  const now = countOf(onlyRow(rows), 'now')
  return { key, makers: keys.filter(({ id }) => id !== keyId), now, month: monthOf(now) }
}

/** A block by the monthly cap ends with its month. */
const liftMonthlyBlock = async (run: Run, words: Words, { key }: Line): Promise<void> => {
  if (key.disabledReason === undefined) return
  await run(
    `update api_key set disabled_reason = null, disabled_month = null, version = version + 1, changed_at = ${words.now}
     where id = $1`,
    [key.id],
  )
}

const budgetsOf = ({ key, makers, month }: Line): string =>
  JSON.stringify(
    [key, ...makers].flatMap(({ id, walletId, limits }) => [
      { s: lifetimeScope(id), o: id, w: walletId, l: limits.spendCap?.toString() },
      { s: monthScope(id, month), o: id, m: month, w: walletId, l: limits.monthlyCap?.toString() },
    ]),
  )

type Locked = {
  readonly lease: Row | undefined
  readonly budgets: readonly Row[]
  readonly account: Row
  readonly ownHeld: Nano
  readonly unfolded: Nano
  readonly now: Instant
}

/** Locks the own lease, the budgets and the wallet, in one round trip. */
const lockMeters = async (run: Run, words: Words, ask: GrantAsk, line: Line): Promise<Locked> => {
  const { key, month } = line
  const path = [ask.instance, key.id, month]
  const scopes = scopesOf([key.id, ...key.ancestors], month, key.subBudget)
  const [leases, , budgets, accounts, sums] = await Promise.all([
    run(
      `select l.* from lease l where l.instance = $1 and l.key_id = $2 and l.month = $3 and l.state = 'open'${words.lock('l')}`,
      path,
    ),
    run(
      `insert into budget (scope, owner_id, month, wallet_id, lim)
       select e.value->>'s', e.value->>'o', e.value->>'m', e.value->>'w', cast(e.value->>'l' as bigint)
       from ${words.each('$1')} e where true order by 1 on conflict (scope) do nothing`,
      [budgetsOf(line)],
    ),
    run(
      `select b.* from budget b where b.scope in (select e.value->>'s' from ${words.each('$1')} e)
       order by b.scope${words.lock('b')}`,
      [JSON.stringify(scopes.map((s) => ({ s })))],
    ),
    run(`select a.* from account a where a.id = $1${words.lock('a')}`, [key.walletId]),
    run(
      `select ${words.now} as now,
         (select coalesce(cast(sum(f.hold) as bigint), 0) from inflight f join lease l on l.id = f.lease_id
          where l.instance = $1 and l.key_id = $2 and l.month = $3 and l.state = 'open') as own_held,
         (select coalesce(cast(sum(l.used) as bigint), 0) from lease l where l.wallet_id = $4 and l.state <> 'closed') as unfolded`,
      [...path, key.walletId],
    ),
  ])
  if (budgets.length !== scopes.length)
    throw new Error(`sub-wallet ${key.subBudget} of key ${key.id} has no budget`)
  const sum = onlyRow(sums)
  return {
    lease: leases[0],
    budgets,
    account: onlyRow(accounts),
    ownHeld: nanoOf(sum, 'own_held'),
    unfolded: nanoOf(sum, 'unfolded'),
    now: countOf(sum, 'now'),
  }
}

const metersOf = ({ budgets, account }: Locked, line: Line): readonly Meter[] => {
  const free = nanoOf(account, 'balance') - nanoOf(account, 'held')
  const capped = budgets.flatMap((row): readonly Meter[] => {
    const lim = maybeNano(row, 'lim')
    if (lim === undefined) return []
    const scope = textOf(row, 'scope')
    const room = lim - nanoOf(row, 'used') - nanoOf(row, 'held')
    const owner = [line.key, ...line.makers].find(({ id }) => id === row.owner_id)
    if (owner === undefined) return [{ limit: 'sub_wallet', room, scope, lim }]
    return [
      { limit: row.month === null ? 'spend_cap_usd' : 'monthly_cap_usd', room, scope, lim, owner: owner.id },
    ]
  })
  const stops = [line.key, ...line.makers].flatMap(({ limits: { stopAt } }): readonly Meter[] =>
    stopAt === undefined ? [] : [{ limit: 'stop_at_remaining_usd', room: free - stopAt }],
  )
  return [{ limit: 'wallet', room: free - nanoOf(account, 'lowest') }, ...stops, ...capped]
}

/** Leases under a meter: those of the wallet, or those that count against its scope. */
const under = (meter: Meter): string =>
  meter.scope === undefined
    ? 'l.wallet_id = $1'
    : 'l.wallet_id = $1 and exists (select 1 from lease_scope s where s.lease_id = l.id and s.scope = $3)'

const idleOf = `l.granted - l.used - coalesce((select cast(sum(f.hold) as bigint) from inflight f where f.lease_id = l.id), 0)`

const shortageOf = async (
  run: Run,
  meter: Meter,
  wallet: string,
  own: string,
  locked: Locked,
): Promise<Shortage> => {
  const params = [wallet, own, ...(meter.scope === undefined ? [] : [meter.scope])]
  const row = onlyRow(
    await run(
      `select coalesce(cast(sum(case when x.state = 'open' and x.id <> $2 then x.idle else 0 end) as bigint), 0) as idle,
         coalesce(cast(sum(x.held) as bigint), 0) as held, coalesce(cast(sum(x.used) as bigint), 0) as used
       from (select l.id, l.state, l.used, ${idleOf} as idle, l.granted - l.used - (${idleOf}) as held
             from lease l where l.state <> 'closed' and ${under(meter)}) x`,
      params,
    ),
  )
  const folded = locked.budgets.find(({ scope }) => scope === meter.scope)
  return {
    meter,
    idle: nanoOf(row, 'idle'),
    held: nanoOf(row, 'held'),
    spent: nanoOf(row, 'used') + (folded === undefined ? 0n : nanoOf(folded, 'used')),
  }
}

const recall = (run: Run, words: Words, meter: Meter, wallet: string, own: string): Promise<unknown> =>
  run(
    `update lease set recall = 1 where id in (select l.id from lease l
       where l.state = 'open' and l.recall = 0 and l.id <> $2 and ${idleOf} > 0 and ${under(meter)}${words.lockFree('l')})`,
    [wallet, own, ...(meter.scope === undefined ? [] : [meter.scope])],
  )

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
  const wallet = line.key.walletId
  const own = locked.lease === undefined ? '' : textOf(locked.lease, 'id')
  const [firstMeter, ...restMeters] = short
  const first = await shortageOf(run, firstMeter, wallet, own, locked)
  const rest = await Promise.all(restMeters.map((meter) => shortageOf(run, meter, wallet, own, locked)))
  const verdict = verdictOf([first, ...rest], ask, grant.useful)
  if (verdict.outcome === 'recall') {
    for (const meter of short) await recall(run, words, meter, wallet, own)
  }
  const version = await disable(run, words, line, verdict.exhausted)
  const { meter, held } = verdict.binding
  const whole = grant.need + ask.ownUnused
  return {
    outcome: verdict.outcome,
    limit: meter.limit,
    required: meter.limit === 'wallet' ? greatest(whole, WALLET_MINIMUM) : whole,
    available: greatest(meter.room + ask.ownUnused, 0n),
    held,
    ...(version === undefined ? {} : { keyVersion: version }),
  }
}

/** A lease id that was used before and is closed cannot open again; the answer tells the id that was taken instead. */
const openLease = async (run: Run, grant: GrantAsk, line: Line, now: Instant): Promise<string> => {
  const insert = async (id: string): Promise<boolean> => {
    const rows = await run(
      `insert into lease (id, instance, key_id, wallet_id, sub_id, month, expires_at) values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (id) do nothing returning id`,
      [id, grant.instance, line.key.id, line.key.walletId, line.key.subBudget ?? null, line.month, now],
    )
    return rows.length > 0
  }
  if (await insert(grant.leaseId)) return grant.leaseId
  const other = `${grant.leaseId.split('+')[0]}+${now.toString(36)}`
  if (await insert(other)) return other
  throw new Error(`lease ${other} exists already`)
}

const grow = async (
  run: Run,
  it: { grant: GrantAsk; ask: Ask; line: Line; locked: Locked; meters: readonly Meter[] },
): Promise<Granted> => {
  const { grant, ask, line, locked, meters } = it
  const { grown, tight } = growth(meters, ask)
  const leaseId =
    locked.lease === undefined ? await openLease(run, grant, line, locked.now) : textOf(locked.lease, 'id')
  const expires = Math.min(locked.now + grant.ttlMs, nextMonthStart(line.now))
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
    remaining: nanoOf(locked.account, 'balance') - locked.unfolded,
  }
}

/** Grows the lease of one spending path by what the call needs and the limits allow, or says what binds. */
export const grantIn = (engine: Engine, grant: GrantAsk): Promise<Granted | GrantRefused> =>
  engine.transaction('control', async (run) => {
    const { words } = engine
    const line = await lockLine(run, words, grant.keyId)
    if (line === undefined) return refused('unknown_key', grant.need)
    if (!isEnabled(line.key, line.month)) return refused('disabled', grant.need)
    await liftMonthlyBlock(run, words, line)
    const locked = await lockMeters(run, words, grant, line)
    const leased =
      locked.lease === undefined ? 0n : nanoOf(locked.lease, 'granted') - nanoOf(locked.lease, 'used')
    const ask: Ask = { need: grant.need, want: grant.want, ownUnused: leased - locked.ownHeld }
    const meters = metersOf(locked, line)
    const [first, ...rest] = shortMeters(meters, ask)
    if (first === undefined) return grow(run, { grant, ask, line, locked, meters })
    return refuse(run, words, { grant, ask, line, locked, short: [first, ...rest] })
  })
