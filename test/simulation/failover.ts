/**
 * A history of failovers: the primary is lost, and a standby takes over that lacks the last seconds of its log, any number
 * of them. Calls go on, keys and sub-wallets are made, money comes in, keys are revoked, a process is killed.
 *
 * What was acknowledged is there in the end, once: charges, money, keys, sub-wallets. A revoked key is never served again.
 * What a process acknowledged that was gone before the standby took over is the one exception.
 */

import type { Book, Hold } from '../../src/book/contract.ts'
import { createOutbox } from '../../src/book/outbox.ts'
import { silentLog } from '../../src/core/log.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { createDisk } from './disk.ts'
import { type Billed, emptyDetail, fine, type Reached, recover, standing } from './law.ts'
import { startProcess } from './process.ts'
import { createStage, type Stage } from './stage.ts'
import { openStandbyLedger, type StandbyLedger } from './standby-ledger.ts'
import { EPOCH } from './world.ts'

type Process = { readonly book: Book; readonly store: Store; diedMs: number }
/** Who acknowledged something, and when. */
type Known = { readonly by: Process; readonly atMs: number }
type Acknowledged = Known & {
  readonly what: string
  readonly isThere: () => Promise<boolean>
}

const WALLET = 'w'
const SLOTS = 3
const BUDGET = 1_000_000n
const LOAD_MS = 24_000
const REST_MS = 14_000
/** Nobody takes a call for orphaned before its process has put back what it knows of it. */
const LONGEST_CALL_MS = 25_000
/** After a failover all that was lost is put back by then. */
const PUT_BACK_MS = 4_000

export const runFailover = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const scene = createScene(stage, { journal: seed % 4 < 2, kills: seed % 8 < 4, shared: seed % 2 === 0 })
  scene.start()
  try {
    stage.playUntil(LOAD_MS + REST_MS)
    if (!stage.isBroken()) scene.finish()
    stage.world.runUntil(stage.world.now() + 14_000)
    stage.judge(scene.finished(), 'the history of failovers')
  } finally {
    scene.close()
    stage.world.runUntil(stage.world.now())
  }
}

type Kind = { readonly journal: boolean; readonly kills: boolean; readonly shared: boolean }

const createScene = (stage: Stage, { journal, kills, shared }: Kind) => {
  const { world, hit, fail, guard, sleep } = stage
  const { after } = world
  const { pick, random } = world.draws('scene')
  const outage = { down: false, takeovers: 0 }
  const disk = createDisk(world, hit)
  const processes: Process[] = []
  const acknowledged: Acknowledged[] = []
  const charged: (Billed & Known)[] = []
  const free: (Pick<Billed, 'callId'> & Known)[] = []
  const subs: string[] = []
  /** For each setting the values that it may have. */
  const settings = new Map<string, readonly (bigint | undefined)[]>()
  const beingSet = new Set<string>()
  const lost: { readonly fromMs: number; toMs: number }[] = []
  const keys: string[] = ['k0', 'k1']
  /** Keys that somebody tried to revoke, and when that was acknowledged. */
  const asked = new Set<string>()
  const revokedMs = new Map<string, number>()
  let ledger: StandbyLedger
  let [generation, made, loaded] = [0, 0, 0]
  let finished = false

  const begin = (slot: number): void => {
    const alive = () => process.diedMs === Number.POSITIVE_INFINITY
    const process: Process = Object.assign({ diedMs: Number.POSITIVE_INFINITY }, {} as never)
    const running = startProcess(world, ledger.store, {
      name: `p${slot}.${generation++}`,
      link: { partitioned: false, slow: false, reliable: journal, alive },
      outage,
      // Leases that were lent after the standby's moment do not fit what it knows.
      refused: () => hit('failover: a constraint held'),
      longestCallMs: LONGEST_CALL_MS,
      ...(journal
        ? {
            outbox: (instance: string) =>
              createOutbox({
                folder: disk.folder(alive, () => undefined),
                ledger: 'l',
                instance,
                log: silentLog,
              }),
          }
        : {}),
    })
    processes[slot] = Object.assign(process, { book: running.book, store: running.store })
  }

  const some = (): Process => processes[pick(0, SLOTS - 1)]!

  const setUp = async (): Promise<void> => {
    ledger = await openStandbyLedger(() => EPOCH + Math.floor(world.now()), shared)
    const { store } = ledger
    await store.wallets.createWallet({ id: WALLET, orgId: 'o', name: 'w' }, byTest)
    await store.ledger.post({
      kind: 'topup',
      ref: 'first',
      debit: 'cash',
      credit: WALLET,
      amount: 10_000_000_000n,
    })
    for (const id of keys) await store.keys.createKey(newKey(id), byTest)
    for (let slot = 0; slot < SLOTS; slot++) begin(slot)
    after(300, load)
    after(600, people)
    after(pick(1_000, 3_000), () => guard(failovers()))
  }

  const newKey = (id: string) => ({
    id,
    hash: `hash of ${id}`,
    orgId: 'o',
    walletId: WALLET,
    label: 'k',
    prefix: 'k',
    limits: random() < 0.5 ? { spendCap: 4_000_000_000n } : {},
  })

  const load = (): void => {
    if (world.now() > LOAD_MS) return
    guard(call(some(), keys[pick(0, keys.length - 1)]!))
    after(random() < 0.05 ? pick(200, 900) : pick(5, 90), load)
  }

  const call = async (process: Process, keyId: string): Promise<void> => {
    const wasRevoked = revokedMs.get(keyId) ?? Number.POSITIVE_INFINITY
    const mayNot = world.now() > wasRevoked
    const key = await process.book.caller(`hash of ${keyId}`)
    if (key === undefined || key instanceof Refusal) return hit('failover: not served')
    const callId = `c${++loaded}`
    const amount = BigInt(pick(100, 3_000)) * 1_000n
    const hold = await process.book.hold({ callId, key, amount, useful: amount / 4n })
    if (hold instanceof Refusal || 'outcome' in hold) return hit('failover: refused')
    const streams = random() < 0.6
    if (streams && !(await hold.opened)) return hit('failover: not opened')
    if (streams && mayNot) fail('a call of a revoked key was opened')
    await answer(process, hold, { amount, keyId, mayNot: mayNot && !streams })
  }

  const answer = async (
    process: Process,
    hold: Hold,
    { amount, keyId, mayNot }: { amount: bigint; keyId: string; mayNot: boolean },
  ): Promise<void> => {
    if (random() < 0.5) hold.checkpoint(amount / 4n)
    await sleep(random() < 0.1 ? pick(500, 3_000) : pick(1, 200))
    if (process.diedMs < world.now()) return
    if (random() < 0.1) {
      await hold.void()
      free.push({ callId: hold.callId, by: process, atMs: world.now() })
      return hit('failover: voided')
    }
    const cost = (amount * BigInt(pick(25, 100))) / 100n
    const settled = await hold.settle(cost, { ...emptyDetail, keyId }).catch(() => undefined)
    if (settled === undefined) return hit('failover: not settled')
    if (mayNot) fail('a call of a revoked key was answered')
    hit('failover: answered')
    charged.push({ callId: hold.callId, cost, payer: WALLET, by: process, atMs: world.now() })
  }

  /** What people do, one thing at a time; only what is acknowledged must stay. */
  const people = (): void => {
    if (world.now() > LOAD_MS) return
    const process = some()
    const act = [makeKey, payIn, makeSub, revoke, setBudget, setRules][pick(0, 5)]!
    const done = act(process).catch(() => hit('failover: an act failed'))
    guard(done)
    after(pick(50, 700), people)
  }

  const note = (what: string, by: Process, isThere: () => Promise<boolean>): void => {
    hit(`failover: ${what}`)
    acknowledged.push({ what, by, atMs: world.now(), isThere })
  }

  const makeKey = async (process: Process): Promise<void> => {
    const id = `k${++made + 1}`
    await process.store.keys.createKey(newKey(id), byTest)
    keys.push(id)
    const isThere = async () => asked.has(id) || (await ledger.store.keys.key(id)) !== undefined
    note('key made', process, isThere)
  }

  const payIn = async (process: Process): Promise<void> => {
    const ref = `t${++made}`
    const amount = 5_000_000n
    await process.store.ledger.post({ kind: 'topup', ref, debit: 'cash', credit: WALLET, amount })
    note('paid in', process, async () => (await ledger.store.ledger.transfersOf(ref)).length === 1)
  }

  const makeSub = async (process: Process): Promise<void> => {
    const id = `s${++made}`
    const sub = { id, walletId: WALLET, label: id, budget: BUDGET }
    await process.store.subWallets.createSubWallet(sub, byTest)
    note('sub-wallet made', process, async () => (await subWallet(id)) !== undefined)
    subs.push(id)
  }

  const subWallet = (id: string) => ledger.store.subWallets.subWallet({ walletId: WALLET }, id)

  /** A value may be any that was tried since the last one that was acknowledged, or that one. */
  const set = async (
    name: string,
    process: Process,
    change: (to: bigint) => Promise<{ at: number } | undefined>,
  ): Promise<void> => {
    if (beingSet.has(name)) return
    beingSet.add(name)
    try {
      const to = BigInt(++made) * 1_000_000_000n
      settings.set(name, [...(settings.get(name) ?? [name === 'rules' ? undefined : BUDGET]), to])
      const changed = await change(to)
      if (changed === undefined) return
      await process.book.untilKnown(changed.at)
      hit('failover: a setting')
      settings.set(name, [to])
    } finally {
      beingSet.delete(name)
    }
  }

  const setBudget = async (process: Process): Promise<void> => {
    const id = subs[pick(0, subs.length - 1)]
    if (id === undefined) return
    await set(id, process, (budget) =>
      process.store.subWallets.changeSubWallet({ walletId: WALLET }, id, { budget }, byTest),
    )
  }

  const setRules = (process: Process): Promise<void> =>
    set('rules', process, (perCallMax) =>
      process.store.wallets.changeWalletRules<never>(WALLET, { perCallMax }, byTest),
    )

  const revoke = async (process: Process, id: string = keys[pick(0, keys.length - 1)]!): Promise<void> => {
    if (keys.length - asked.size < 2 || asked.has(id)) return
    asked.add(id)
    const change = { disabledReason: 'operator', byCreator: false } as const
    const changed = await process.book.changeKey(id, change, byTest)
    if (changed === undefined) return
    revokedMs.set(id, world.now())
    hit('failover: revoked')
    // Somebody tries the key at once, and then again and again.
    for (let tries = 0; tries < 12; tries++) after(tries * 150, () => guard(call(some(), id)))
  }

  const failovers = async (): Promise<void> => {
    while (world.now() < LOAD_MS - 8_000) {
      // One that dies has put back what the failover before lost.
      while (kills && !processes.every(({ book }) => book.health().fresh)) await sleep(100)
      if (kills) await checkAll(lost.at(-1)?.toMs ?? 0)
      ledger.fallBehind()
      const one = { fromMs: world.now(), toMs: Number.POSITIVE_INFINITY }
      lost.push(one)
      // So short that no process has sent a heartbeat meanwhile.
      const hurried = random() < 0.3
      await sleep(hurried ? pick(5, 80) : pick(0, 5_000))
      if (kills && !hurried && random() < 0.6) await lose(pick(0, SLOTS - 1))
      if (!hurried && random() < 0.5) await makeAndRevoke()
      const switched = hurried || random() < 0.2
      outage.down = true
      if (!switched) await sleep(pick(100, 4_000))
      outage.takeovers++
      await ledger.takeOver()
      outage.down = false
      one.toMs = world.now()
      hit(switched ? 'failover: at once' : 'failover: after an outage')
      // Without deaths a next standby may fall behind while this one's loss is being put back.
      await sleep(kills ? PUT_BACK_MS : pick(0, 3_000))
    }
  }

  /** The former ledger gets a key and its revocation, and may be lost before all know of it. */
  const makeAndRevoke = async (): Promise<void> => {
    const made = makeKey(some()).then(() => revoke(some(), keys.at(-1)!))
    guard(made.catch(() => hit('failover: an act failed')))
    await sleep(pick(20, 200))
  }

  const lose = async (slot: number): Promise<void> => {
    processes[slot]!.diedMs = world.now()
    disk.loseUnsynced()
    hit('failover: killed')
    begin(slot)
    await sleep(pick(0, 1_000))
  }

  /** Its process died before the standby took over that lacked it. */
  const nobodyKnew = ({ by, atMs }: Known): boolean =>
    lost.some(({ fromMs, toMs }) => by.diedMs <= toMs && by.diedMs >= fromMs && atMs >= fromMs)

  const check = async (): Promise<void> => {
    await recover(ledger.store)
    await stage.audit(ledger.store)
    const wallet = await ledger.store.wallets.wallet(WALLET)
    if (wallet?.held !== 0n) fail(`held after everything ended: ${wallet?.held}`)
    await checkAll(world.now())
    finished = true
  }

  /** All that was acknowledged until then, once all processes have put back what they know of. */
  const checkAll = async (untilMs: number): Promise<void> => {
    const { store } = ledger
    const mustBe = (it: Known) => it.atMs < untilMs && !nobodyKnew(it)
    for (const { what, isThere, ...its } of acknowledged)
      if (mustBe(its) && !(await isThere())) fail(`acknowledged and not there once: ${what}`)
    await checkSettings()
    for (const [id, atMs] of revokedMs) {
      if (atMs >= untilMs) continue
      const key = await store.keys.key(id)
      if (key !== undefined && key.disabledReason !== 'operator') fail('a revoked key is enabled')
    }
    for (const call of free)
      if (mustBe(call) && (await store.ledger.transfersOf(call.callId)).length > 0)
        fail('voided, and charged all the same')
    for (const call of charged) {
      if (!mustBe(call)) continue
      const outcome = await standing(store, call)
      if (!fine.includes(outcome)) fail(`answered, ${outcome}`)
      hit(`failover: ${outcome}`)
    }
  }

  const checkSettings = async (): Promise<void> => {
    for (const [name, values] of settings) {
      const sub = name === 'rules' ? undefined : await subWallet(name)
      // One that was lost with its maker has none.
      if (name !== 'rules' && sub === undefined) continue
      const { rules } = await ledger.store.wallets.walletRules(WALLET)
      if (!values.includes(sub === undefined ? rules.perCallMax : sub.budget)) fail('a setting is an old one')
    }
  }

  return {
    start: () => guard(setUp()),
    finish: () => {
      for (const process of processes) process.diedMs = world.now()
      disk.loseUnsynced()
      // What they left in their outboxes is brought in by the next start.
      begin(0)
      after(12_000, () => {
        processes[0]!.diedMs = world.now()
        guard(check())
      })
    },
    finished: () => finished,
    close: () => void ledger.close(),
  }
}
