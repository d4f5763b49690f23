/**
 * A history of clocks: the database's clock jumps by hours, forward or back, and is set right a while later; so do the
 * clocks of the processes, each by itself. Calls go on, a process is killed with calls open, a key is revoked.
 *
 * Whatever the clocks say, nothing is overspent, charged twice or admitted after a revocation was acknowledged. And a
 * minute or so after the database's clock is right again, everything that nobody uses serves again: money, rates,
 * claimed Idempotency-Keys.
 */

import type { Hold } from '../../src/book/contract.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Clock } from '../../src/core/time.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { emptyDetail, type Reached } from './law.ts'
import { type Running, startProcess } from './process.ts'
import { createStage } from './stage.ts'

type Process = Pick<Running, 'book' | 'store' | 'instance'> & {
  /** Moves its own wall clock. */
  readonly jump: (ms: number) => void
  dead: boolean
}

const WALLET = 'w'
/** The keys: for calls, for a rate, and one that is revoked. */
const [FOR_CALLS, FOR_RATE, FOR_REVOCATION] = ['k0', 'k1', 'k2'] as const
const RPM = 3
const LONGEST_CALL_MS = 4_000
const HOUR_MS = 3_600_000
/**
 * After this everything must serve again: what ends in the far future is cut back to a minute, and what is fenced then
 * waits for its longest call.
 */
const RIGHT_MS = 60_000 + LONGEST_CALL_MS + 12_000
/**
 * A revocation is acknowledged within this: it waits until the freshness of a dead process is over, and once more if
 * the clock jumps meanwhile.
 */
const ACKNOWLEDGED_MS = 8_000
const CLAIM = { keyId: FOR_CALLS, endpoint: 'chat', key: 'claimed' }

export const runClocks = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const { world, hit, fail, guard, sleep } = stage
  const { after } = world
  const { pick, random } = world.draws('scene')

  const deposit = BigInt(pick(60, 300)) * 1_000_000n
  const processes: Process[] = []
  /** The most each call held, and the cost that its caller learnt. */
  const calls = new Map<string, { held: bigint; named?: bigint }>()
  let store: Store
  let databaseAheadMs = 0
  let generation = 0
  let loading = true
  let revokedMs = Number.POSITIVE_INFINITY
  let finished = false

  const begin = (slot: number): void => {
    let aheadMs = 0
    const process = { dead: false }
    const alive = () => !process.dead
    const own = world.clock(alive)
    const clock: Clock = { ...own, now: () => own.now() + aheadMs }
    const link = { partitioned: false, slow: false, reliable: true, alive }
    const name = `p${slot}.${generation++}`
    const way = { name, link, refused: fail, clock, longestCallMs: LONGEST_CALL_MS }
    const jump = (ms: number) => {
      aheadMs = ms
    }
    processes[slot] = Object.assign(process, startProcess(world, store, way), { jump })
  }

  /** One call, from its hold to its charge; its process may be killed on the way. */
  const call = async (process: Process, keyId: string): Promise<void> => {
    const key = await process.book.caller(`hash of ${keyId}`)
    if (key === undefined || key instanceof Refusal) return hit('clocks: not fresh')
    const amount = BigInt(pick(200, 3_000)) * 1_000n
    const callId = `c${calls.size}`
    calls.set(callId, { held: amount })
    const hold = await process.book.hold({ callId, key, amount, useful: 1n })
    if (hold instanceof Refusal || 'outcome' in hold) return hit('clocks: refused')
    if (!(await hold.opened)) return hit('clocks: not opened')
    if (keyId === FOR_REVOCATION && world.now() > revokedMs)
      fail('a call was opened after the revocation of its key was acknowledged')
    await answer(process, hold, { amount, keyId })
  }

  const answer = async (
    process: Process,
    hold: Hold,
    { amount, keyId }: { amount: bigint; keyId: string },
  ): Promise<void> => {
    if (random() < 0.5) hold.checkpoint(amount / 4n)
    await sleep(random() < 0.2 ? pick(500, LONGEST_CALL_MS - 1_000) : pick(1, 200))
    if (process.dead) return
    const cost = (amount * BigInt(pick(25, 100))) / 100n
    const settled = await hold.settle(cost, { ...emptyDetail, keyId }).catch(() => undefined)
    if (settled === undefined) return hit('clocks: not settled')
    calls.set(hold.callId, { held: amount, named: settled.charged })
    hit('clocks: answered')
  }

  const load = (): void => {
    if (!loading) return
    const process = processes[pick(0, 1)]
    if (process !== undefined) guard(call(process, random() < 0.3 ? FOR_REVOCATION : FOR_CALLS))
    after(pick(20, 400), load)
  }

  const setUp = async (): Promise<void> => {
    store = await stage.openLedger(() => databaseAheadMs)
    await store.wallets.createWallet({ id: WALLET, orgId: 'o', name: 'w' }, byTest)
    await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: WALLET, amount: deposit })
    for (const id of [FOR_CALLS, FOR_RATE, FOR_REVOCATION])
      await store.keys.createKey(
        {
          id,
          hash: `hash of ${id}`,
          orgId: 'o',
          walletId: WALLET,
          label: 'k',
          prefix: 'k',
          limits: id === FOR_RATE ? { rpm: RPM } : {},
        },
        byTest,
      )
    begin(0)
    begin(1)
    after(300, load)
    guard(jumps())
  }

  /** The clocks jump; a key is revoked meanwhile, a rate is used up and a process dies; then the database's is set right. */
  const jumps = async (): Promise<void> => {
    await sleep(pick(1_500, 3_000))
    const far = pick(60_000, 12 * HOUR_MS)
    databaseAheadMs = random() < 0.75 ? far : -far
    hit(databaseAheadMs > 0 ? 'clocks: forward' : 'clocks: back')
    for (const process of processes) after(pick(0, 4_000), () => process.jump(pick(-12, 12) * HOUR_MS))
    after(pick(0, 5_000), () => guard(revoke()))
    for (let asked = 0; asked <= RPM; asked++) await askRate(processes[0])
    await sleep(pick(300, 2_500))
    await loseOne()
    await sleep(pick(100, 3_000))
    databaseAheadMs = 0
    // A call under the right clock: what is counted stays counted for a minute from then on.
    await sleep(1_000)
    await askRate(processes[1])
    after(pick(1_500, 3_000), () => {
      loading = false
    })
    await sleep(RIGHT_MS)
    await checkServes()
    await checkMoney()
    finished = true
  }

  const askRate = async (process: Process | undefined): Promise<void> => {
    const key = await process?.book.caller(`hash of ${FOR_RATE}`)
    if (process === undefined || key === undefined || key instanceof Refusal) return
    await process.book.takeRate(key.id, key.limits, undefined)
  }

  /** A process is killed with calls open and an Idempotency-Key claimed. */
  const loseOne = async (): Promise<void> => {
    const process = processes[1]
    if (process === undefined) return
    const { instance } = process
    const claim = { ref: CLAIM, fingerprint: 'f', callId: 'claimed', instance, lockMs: LONGEST_CALL_MS }
    await store.idempotency.begin(claim)
    for (let open = 0; open < 3; open++) guard(call(process, FOR_CALLS))
    await sleep(pick(20, 400))
    process.dead = true
    hit('clocks: killed')
    begin(1)
  }

  const revoke = async (): Promise<void> => {
    const startedMs = world.now()
    await processes[0]?.book.changeKey(
      FOR_REVOCATION,
      { disabledReason: 'operator', byCreator: true },
      byTest,
    )
    revokedMs = world.now()
    hit('clocks: revocation acknowledged')
    if (revokedMs - startedMs > ACKNOWLEDGED_MS)
      fail(`a revocation took ${Math.round(revokedMs - startedMs)} ms`)
  }

  /** Nothing runs any more: unused money, rates and claims are there for the next caller. */
  const checkServes = async (): Promise<void> => {
    const [process] = processes
    if (process === undefined) return
    const { book, instance } = process
    if (revokedMs === Number.POSITIVE_INFINITY) fail('a revocation was never acknowledged')
    const key = await book.caller(`hash of ${FOR_CALLS}`)
    const rated = await book.caller(`hash of ${FOR_RATE}`)
    if (key === undefined || key instanceof Refusal || rated === undefined || rated instanceof Refusal)
      return fail('a process is not fresh, long after the clock was set right')
    const rate = await book.takeRate(rated.id, rated.limits, undefined)
    if (rate instanceof Refusal || !rate.admitted) fail('a rate is used up until a time that never was')
    const entry = { ref: CLAIM, fingerprint: 'f', callId: 'next', instance, lockMs: LONGEST_CALL_MS }
    const claim = await store.idempotency.begin(entry)
    if (claim.state !== 'first') fail(`a claim of a process that was killed is ${claim.state}`)
    const left = await store.ledger.balance(WALLET)
    const hold = await book.hold({ callId: 'all', key, amount: left, useful: 1n, waits: true })
    if (hold instanceof Refusal) return fail(`what is left was refused: ${hold.code}`)
    if ('outcome' in hold) {
      if (left >= 10_000_000n) fail(`what is left was refused by ${hold.limit}: ${hold.held} is held`)
      return hit('clocks: spent')
    }
    await hold.void()
    hit('clocks: serves again')
  }

  /** Each call is charged at most once, what its caller learnt, and never more than it held. */
  const checkMoney = async (): Promise<void> => {
    let charged = 0n
    for (const [callId, { held, named }] of calls) {
      const posted = (await store.ledger.transfersOf(callId)).filter(({ kind }) => kind === 'usage')
      const amount = posted.reduce((sum, one) => sum + one.amount, 0n)
      charged += amount
      if (posted.length > 1) fail('a call was charged twice')
      if (amount > held) fail('a call was charged more than it held')
      if (named !== undefined && amount > named) fail(`told ${named}, charged ${amount}`)
    }
    if ((await store.ledger.balance(WALLET)) !== deposit - charged) fail('money was made or lost')
    if (charged > deposit) fail('more was charged than there was')
    await stage.audit(store)
  }

  guard(setUp())
  stage.playUntil(20_000 + RIGHT_MS + 10_000, () => finished)
  stage.judge(finished, 'the history of clocks')
}
