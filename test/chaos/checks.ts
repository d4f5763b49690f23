/** Compares the books with what the callers saw. */
import { type BatchCallers, batchChecks } from './batches.ts'
import { type Happened, happened, isEnough } from './enough.ts'
import { type Paid, UNIT } from './facilitator.ts'
import { type JournalWatch, TOTAL_SECONDS } from './gateways.ts'
import { type JobCallers, jobChecks } from './jobs.ts'
import type { Trouble } from './misbehave.ts'
import { type Check, ownBookChecks } from './own-books.ts'
import type { Note } from './upstream.ts'
import { openView, type View } from './view.ts'

type Sampler = {
  readonly samples: () => number
  readonly broken: () => readonly string[]
  stop(): Promise<void>
}

/** Checks the constraints of money while the load runs. */
export const auditSampler = (url: string): Sampler => {
  let running = true
  let samples = 0
  const broken = new Set<string>()
  const loop = (async () => {
    while (running) {
      await Bun.sleep(400)
      const view = openView(url)
      try {
        const [row] = await view.rows(`select
          (select count(*) from account where bounded = 1 and balance - held < lowest) as wallets,
          (select count(*) from budget where lim is not null and used + held > lim + coalesce(tolerated, 0)) as caps,
          (select count(*) from lease where used > granted) as leases,
          (select coalesce(sum(amount), 0) from posting) as sum`)
        samples++
        if (row?.wallets !== '0') broken.add('a wallet is overspent')
        if (row?.caps !== '0') broken.add('a cap is overspent')
        if (row?.leases !== '0') broken.add('a lease is overdrawn')
        if (row?.sum !== '0') broken.add('postings do not sum to zero')
      } catch {
        // The database is being crashed.
      } finally {
        await view.close()
      }
    }
  })()
  return {
    samples: () => samples,
    broken: () => [...broken],
    stop: async () => {
      running = false
      await loop
    },
  }
}

/**
 * Orphans must be closed after a lease, the longest call after it, and some rounds of the reaper; a busy machine gets
 * several times that.
 */
const RECOVERY_MS = 6 * (10 + TOTAL_SECONDS + 5 + 12) * 1000

/** Leases that nobody keeps for a next call: fenced ones, and those of processes that are silent beside others. */
const LEFT_LEASES = `state = 'quarantined' or (state = 'open' and not exists (select 1 from instance i
  where i.id = lease.instance and i.beat_at > (select max(beat_at) from instance) - 3000))`

/**
 * Waits until no call and no payment is open and the dead hold nothing, or until that is long overdue; the checks then
 * report what is left. The pauses between two rounds over a payment grow to minutes, so they are cut short here.
 */
export const untilRecovered = async (url: string): Promise<void> => {
  const view = openView(url)
  try {
    for (const until = Date.now() + RECOVERY_MS; Date.now() < until; await Bun.sleep(500)) {
      await view.rows(`update x402_payment set next_try = 0 where next_try > 0 and (${OPEN_PAYMENT})`)
      const [row] = await view.rows(
        `select (select count(*) from inflight) as calls, (select count(*) from lease where ${LEFT_LEASES}) as leases,
           (select count(*) from x402_payment where ${OPEN_PAYMENT}) as payments`,
      )
      if (row?.calls === '0' && row.leases === '0' && row.payments === '0') return
    }
  } finally {
    await view.close()
  }
}

/**
 * Outcome unknown, or charged and its change due to a key's wallet. A payment that nobody pays stays open until it
 * cannot be paid any more.
 */
const OPEN_PAYMENT = `(state = 'settling' and payer not like '0xdead%') or (state = 'settled' and change_to is null
  and credit_to is not null and exists (select 1 from transfer t where t.kind = 'usage' and t.ref = call_id))`

export type Evidence = Happened & {
  readonly databaseUrl: string
  /** What the vendor did, by its own notes. */
  readonly notes: ReadonlyMap<string, Note>
  readonly jobs: JobCallers
  readonly batches: BatchCallers | undefined
  /** What reached the receiver on the chain, by nonce. */
  readonly settled: ReadonlyMap<string, Paid>
  readonly sampler: Sampler
  readonly upstreamCalls: number
  readonly chaos: Trouble
  readonly memory: readonly number[]
  readonly journals: JournalWatch
  readonly money: { readonly rpmKey: string; readonly rpm: number }
  readonly seed: number
}

/** Prints the table and `N passed, N failed`; returns the exit code. */
export const checkBooks = async (it: Evidence): Promise<number> => {
  const { openStore } = await import('../../src/store/open-store.ts')
  const store = await openStore({ url: it.databaseUrl })
  const view = openView(it.databaseUrl)
  const bills = new Map<string, { amount: bigint; note: string | null }[]>()
  for (const { ref, amount, note } of await view.rows(
    `select ref, amount, note, kind from transfer where kind in ('usage', 'writeoff')`,
  ))
    bills.set(ref ?? '', [
      ...(bills.get(ref ?? '') ?? []),
      { amount: BigInt(amount ?? 0), note: note ?? null },
    ])
  const [open] = await view.rows(
    `select (select count(*) from lease where state <> 'closed' and (granted <> 0)) as leases, (select count(*) from inflight) as inflight, (select coalesce(sum(held), 0) from account) as held`,
  )
  const audit = await store.ledger.audit()
  const payments = await paymentChecks(it, view)
  const ownBooks = await ownBookChecks(it, view)
  const jobs = await jobChecks(it.jobs, view)
  const batches = it.batches === undefined ? [] : await batchChecks(it.batches, view)
  await view.close()
  await store.close()
  const answered = it.load.seen.filter(({ complete }) => complete)
  const unbilled = answered.filter(({ callId }) => !bills.has(callId))
  const twice = [...bills.values()].filter((list) => list.length > 1)
  const wrong = answered.filter(({ callId, costNano, dueNano }) => {
    const bill = bills.get(callId)?.[0]
    return bill !== undefined && (bill.amount > dueNano || (bill.amount !== costNano && bill.note === null))
  })
  const byIdempotencyKey = Map.groupBy(
    answered.filter(({ idempotencyKey }) => idempotencyKey !== undefined),
    ({ idempotencyKey }) => idempotencyKey,
  )
  const splitKeys = [...byIdempotencyKey.values()].filter(
    (list) => new Set(list.map(({ callId }) => callId)).size > 1,
  )
  const checks: Check[] = [
    ['answered but unbilled', unbilled.length === 0, unbilled.length],
    ['billed twice', twice.length === 0, twice.length],
    ['billed at another amount than told', wrong.length === 0, wrong.length],
    ['overspend at any sample', it.sampler.broken().length === 0, it.sampler.broken().join(', ') || 0],
    [
      'audit at the end',
      audit.every(({ ok }) => ok),
      audit
        .filter(({ ok }) => !ok)
        .map(({ check, detail }) => `${check} ${detail ?? ''}`)
        .join(', ') || 'all hold',
    ],
    [
      'calls admitted after an acknowledged revocation',
      it.revocations.admittedAfter() === 0,
      it.revocations.admittedAfter(),
    ],
    ['idempotency keys that ran as two calls', splitKeys.length === 0, splitKeys.length],
    [
      'left held after the end',
      open?.held === '0' && open.inflight === '0' && open.leases === '0',
      `${open?.held} nano-USD, ${open?.inflight} calls, ${open?.leases} leases`,
    ],
    ...payments,
    ...ownBooks,
    ...jobs,
    ...batches,
    ['requests above the rate limit in a minute', overRate(it) === 0, overRate(it)],
    [
      'upstream calls that nobody accounts for',
      it.upstreamCalls >= answered.length - replays(it),
      `${it.upstreamCalls} calls`,
    ],
    ['journals left after the end', it.journals.left() === 0, it.journals.left()],
    ['memory of a process', it.memory.every((mb) => mb < 400), `${it.memory.join(', ')} MB`],
    ['enough happened', isEnough(it), happened(it)],
  ]
  const statuses = Map.groupBy(it.load.seen, ({ status }) => status)
  console.log(
    `billed ${bills.size} · wire faults ${it.chaos.faults} · database crashes ${it.chaos.crashes} · journals ${it.journals.seen()} · samples ${it.sampler.samples()} · unreachable ${it.load.unreachable()} · abandoned ${it.load.abandoned()} · statuses ${[...statuses].map(([status, list]) => `${status}: ${list.length}`).join(', ')}`,
  )
  for (const [what, ok, value] of checks) console.log(`${ok ? 'ok    ' : 'FAILED'} ${what}: ${value}`)
  for (const seen of unbilled.slice(0, 5)) console.log('unbilled', seen)
  for (const seen of wrong.slice(0, 5)) console.log('wrong', seen, bills.get(seen.callId))
  const failed = checks.filter(([, ok]) => !ok).length
  console.log(`seed ${it.seed}`)
  console.log(`${checks.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

/** Compares the chain with the ledger: what came in, what it was spent on, and where its change went. */
const paymentChecks = async (it: Evidence, view: View): Promise<Check[]> => {
  const rows = await view.rows(
    `select p.id, p.state, p.amount, p.change_to, p.credit_to, p.call_id,
       (select coalesce(sum(t.amount), 0) from transfer t where t.debit = p.account_id and t.kind = 'usage' and t.ref = p.call_id) as spent,
       (select coalesce(sum(t.amount), 0) from transfer t where t.debit = p.account_id) as gone,
       (select coalesce(sum(t.amount), 0) from transfer t where t.debit = p.account_id and t.kind = 'adjust') as change
     from x402_payment p`,
  )
  const [total] = await view.rows(
    `select coalesce(-sum(amount), 0) as taken from posting where account_id = 'x402'`,
  )
  const onChain = [...it.settled.values()].reduce((sum, { units }) => sum + units * UNIT, 0n)
  const settledIds = new Set(
    rows.filter(({ state }) => state === 'settled').map(({ id }) => id?.split(':').at(-1)),
  )
  const lost = [...it.settled.keys()].filter((nonce) => !settledIds.has(nonce))
  const settled = rows.filter(({ state }) => state === 'settled')
  const overspent = settled.filter(
    ({ spent, gone, change, amount }) =>
      BigInt(gone ?? 0) > BigInt(amount ?? 0) ||
      BigInt(spent ?? 0) + BigInt(change ?? 0) !== BigInt(gone ?? 0),
  )
  const wrongChange = settled.filter(({ change_to: to, credit_to: own, spent, change, amount }) => {
    const due = BigInt(amount ?? 0) - BigInt(spent ?? 0)
    if (to === null) return BigInt(change ?? 0) !== 0n || (own !== null && BigInt(spent ?? 0) > 0n)
    return BigInt(change ?? 0) !== due || (own !== null && to !== own)
  })
  return [
    [
      'settled on the chain and in the ledger',
      onChain.toString() === total?.taken,
      `${onChain} and ${total?.taken} nano-USD, ${settled.length} payments`,
    ],
    ['payments that were settled and lost', lost.length === 0, lost.length],
    ['payments that paid for more than themselves or their call', overspent.length === 0, overspent.length],
    [
      'change that is wrong, or given twice',
      wrongChange.length === 0 && it.payers.claimedTwice() === 0,
      wrongChange.length + it.payers.claimedTwice(),
    ],
  ]
}

const replays = (it: Evidence): number =>
  it.load.seen.length - new Set(it.load.seen.map(({ callId }) => callId)).size

/**
 * The most requests that the limited key had admitted in a window of a minute beyond its limit, by the callers' clock.
 */
const overRate = (it: Evidence): number => {
  const admitted = it.load.seen.filter(({ key, status }) => key === it.money.rpmKey && status === 200)
  const perCall = new Map(admitted.map((seen) => [seen.callId, seen.atMs]))
  const windows = Map.groupBy([...perCall.values()], (atMs) => Math.floor(atMs / 60_000))
  // An answer may arrive in the minute after the one it was admitted in, so two neighbours together have twice the limit.
  const counts = [...windows].map(([minute, list]) => list.length + (windows.get(minute + 1)?.length ?? 0))
  return Math.max(0, ...counts.map((count) => count - 2 * it.money.rpm))
}
