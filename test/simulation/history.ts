/**
 * One history: three processes with the product's own book over the product's own store, in virtual time; calls, kills,
 * partitions, outages, changes of limits, rotations of keys, a turning month; and the laws that must hold whatever happens.
 */

import type { Book, Hold } from '../../src/book/contract.ts'
import { createOutbox } from '../../src/book/outbox.ts'
import { silentLog } from '../../src/core/log.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { monthOf } from '../../src/core/time.ts'
import { creditAccountOf } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { type Key, placeOf } from '../../src/tenancy/key.ts'
import { byTest } from '../by-test.ts'
import { createDisk } from './disk.ts'
import { type Billed, emptyDetail as detail, fine, type Reached, recover, standing } from './law.ts'
import type { Link } from './network.ts'
import { createOwnCalls, type OwnCall } from './own-calls.ts'
import { createPayments } from './payments.ts'
import { startProcess } from './process.ts'
import { createRateLaw } from './rate-law.ts'
import { type Counter, createRepeats } from './repeats.ts'
import { createRotations } from './rotations.ts'
import type { Shop } from './shop.ts'
import { createStage, type Stage } from './stage.ts'
import { createTags, type Tagged } from './tags.ts'
import { type Draws, EPOCH } from './world.ts'

type Process = {
  readonly book: Book
  readonly link: Link
  readonly shop: Shop | undefined
  readonly counter: Counter
  dead: boolean
  /** Until when its journal could not be written. */
  unwritableMs: number
}
type Answered = Billed & {
  readonly keyId: string
  readonly newMonth: boolean
  readonly tagged: Tagged | undefined
  readonly admittedMs: number
  readonly endedMs: number
}

const HOUR_MS = 3_600_000
const LOAD_MS = 14_000
const LONGEST_CALL_MS = 3_000
const SETTLE_MS = 6_000
/** An intent is given up after two seconds and a quarter; a disk that is slow and full in turns needs its time. */
const SETTLE_WAIT_MS = 5_000
const KEYS = 4
const WALLET = 'w'

export const runHistory = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  // In half of the histories on each engine's statements, callers also pay by x402.
  const paying = seed % 4 < 2
  const scene = createScene(stage, paying)
  scene.start()
  stage.playUntil(LOAD_MS)
  scene.stopLoad()
  stage.playUntil(LOAD_MS + SETTLE_MS)
  if (!stage.isBroken()) scene.finish()
  const { world } = stage
  world.runUntil(world.now() + 13_000)
  // The rest of payments is given back after a day.
  if (paying) stage.playUntil(world.now() + 30 * HOUR_MS, undefined, HOUR_MS)
  stage.judge(scene.finished(), 'the history')
}

/** Rates beside requests per minute: some bind before it does. */
const LONG_RATES = { rph: 9, rpd: 14, tpm: 2_500 }

const createScene = (stage: Stage, paying: boolean) => {
  const { world, hit, fail, guard } = stage
  const { after } = world
  const outage = { down: false }
  const { pick } = world.draws('scene')
  const asking = world.draws('who is asked')
  const loads = world.draws('load')
  const repeating = world.draws('repeaters')
  const buying = world.draws('buyers')
  const deposit = BigInt(pick(30, 400)) * 1_000_000n
  const answered: Answered[] = []
  const refused: string[] = []
  const inDoubt: Answered[] = []
  const revokedAt = new Map<string, number>()
  const closedAt = new Map<string, number>()
  const processes: Process[] = []
  /** Slots that get no calls for a while. */
  const quiet = new Set<number>()
  let store: Store
  const keys: Key[] = []
  let deposited = deposit
  let loading = true
  let finished = false
  let closed = false
  let generation = 0
  let loaded = 0
  let callsMade = 0
  let events = 0
  let lastAudit = -1_000
  const disk = createDisk(world, hit)
  const rates = createRateLaw({ now: () => EPOCH + world.now(), after, fail, hit })
  /** When the ledger first learnt of a settlement. */
  const settledMs = new Map<string, number>()

  const auditNow = async (force: boolean): Promise<void> => {
    if (!force && world.now() - lastAudit < 1_500) return
    lastAudit = world.now()
    await stage.audit(store)
  }

  const payments = createPayments({
    ...stage,
    store: () => store,
    shop: () => {
      const process = closed ? undefined : processes[asking.pick(0, 2)]
      return { shop: process?.shop, alive: () => process?.dead === false }
    },
    longestCallMs: LONGEST_CALL_MS,
  })

  const rotations = createRotations({ ...stage, store: () => store, isLoading: () => loading, revokedAt })

  const tags = createTags({ ...stage, store: () => store, isLoading: () => loading })

  const own = createOwnCalls({
    ...stage,
    wallet: WALLET,
    store: () => store,
    settledMs,
    longestCallMs: LONGEST_CALL_MS,
  })

  const repeats = createRepeats({
    ...stage,
    counter: () => (closed ? undefined : processes[asking.pick(0, 2)]?.counter),
    cutOff: (ms) => cutOff(asking.pick(0, 2), ms),
    detail,
    keyId: 'k0',
    hash: () => rotations.oneOf(0).hash,
    longestCallMs: LONGEST_CALL_MS,
    hit,
    fail,
  })

  const begin = (slot: number) => {
    const link = { partitioned: false, slow: false, alive: () => !process.dead }
    const process: Process = {
      dead: false,
      unwritableMs: Number.NEGATIVE_INFINITY,
      link,
      book: undefined as never,
      shop: undefined,
      counter: undefined as never,
    }
    const wrote = (well: boolean) => {
      if (!well) process.unwritableMs = Number.POSITIVE_INFINITY
      else if (process.unwritableMs === Number.POSITIVE_INFINITY) process.unwritableMs = world.now()
    }
    const running = startProcess(world, store, {
      name: `p${slot}.${generation++}`,
      link,
      outage,
      arrived: () => guard(auditNow(false)),
      settled: (calls) => {
        for (const callId of calls) if (!settledMs.has(callId)) settledMs.set(callId, world.now())
      },
      refused: fail,
      outbox: (instance) =>
        createOutbox({ folder: disk.folder(link.alive, wrote), ledger: 'l', instance, log: silentLog }),
      longestCallMs: LONGEST_CALL_MS,
    })
    const shop = paying ? payments.open(running) : undefined
    const counter = { ...running, running: new Set<string>() }
    processes[slot] = Object.assign(process, { book: running.book, shop, counter })
  }

  const setUp = async () => {
    store = await stage.openLedger()
    await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
    await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: deposit })
    for (const id of ['shared', 'named'])
      await store.subWallets.createSubWallet(
        {
          id,
          walletId: 'w',
          label: id,
          budget: BigInt(pick(10, 200)) * 1_000_000n,
        },
        byTest,
      )
    const cap = () => BigInt(pick(5, 80)) * 1_000_000n
    const ofDays = world.draws('caps of days and weeks')
    const tight = () => BigInt(ofDays.pick(5, 60)) * 1_000_000n
    const limits = [
      { dailyCap: tight() },
      { spendCap: cap() },
      { monthlyCap: cap(), rpm: pick(8, 40), ...LONG_RATES },
      { stopAt: BigInt(world.draws('stops').pick(5, 100)) * 1_000_000n, weeklyCap: tight() },
    ]
    for (let index = 0; index < KEYS; index++)
      keys.push(
        await store.keys.createKey(
          {
            id: `k${index}`,
            hash: `h${index}`,
            orgId: 'o',
            walletId: 'w',
            label: 'k',
            prefix: 'k',
            limits: limits[index]!,
            ...(index === 1 || index === 3 ? { subWallet: 'shared' } : {}),
            ...(index === 3 ? { parentId: 'k1' } : {}),
          },
          byTest,
        ),
      )
    await store.credit.grantCredit(
      { walletId: WALLET, limit: BigInt(pick(5, 60)) * 1_000_000n, netDays: 14 },
      byTest,
    )
    if (paying) await payments.setUp()
    await tags.setUp()
    rotations.start(keys)
    for (let slot = 0; slot < 3; slot++) begin(slot)
    if (paying) after(500, buyers)
    after(300, load)
    after(350, repeaters)
    after(400, chaos)
  }

  const load = () => {
    if (!loading) return
    const one = world.draws(`call ${++loaded}`)
    const slot = one.pick(0, 2)
    const process = processes[slot]
    if (process !== undefined && !quiet.has(slot)) guard(call(process, one))
    after(loads.random() < 0.03 ? loads.pick(100, 1_500) : loads.pick(0, 80), load)
  }

  const repeaters = () => {
    if (!loading) return
    guard(repeating.random() < 0.1 ? repeats.duel() : repeats.insist())
    after(repeating.pick(20, 1_200), repeaters)
  }

  const buyers = () => {
    if (!loading) return
    guard(payments.buy())
    after(buying.pick(50, 900), buyers)
  }

  const call = async (
    process: Process,
    draws: Draws,
    { index, form }: { index?: number; form?: 'whole' } = {},
  ): Promise<void> => {
    const { pick, random } = draws
    const hash = index === undefined ? rotations.oneOf(pick(0, KEYS - 1)).hash : `h${index}`
    const key = await process.book.caller(hash)
    if (key instanceof Refusal) return hit(key.code === 'service_unavailable' ? 'fenced by itself' : key.code)
    if (key === undefined) return fail('a key vanished')
    if (key.limits.rpm !== undefined) {
      const taken = process.book.takeRate(placeOf(key), key.limits, undefined, rates.tokens())
      if (!(taken instanceof Promise)) hit('rate: counted without asking')
      const rate = await taken
      if (rate instanceof Refusal) return hit('rate not countable')
      if (!rate.admitted) return hit(`rate refused: ${rate.rate}`)
      rates.admitted({ ...key, id: rotations.firstOf(key) }, rate, () => process.dead)
    }
    const usual = BigInt(pick(100, 3_000)) * 1_000n
    const callId = `c${++callsMade}`
    const ownCall = own.of(callId, usual)
    const amount = ownCall?.fee ?? usual
    // Keys that are bound to no sub-wallet name one now and then.
    const named =
      key.subWallet === undefined && random() < 0.3 ? (pick(0, 1) ? 'shared' : 'named') : undefined
    const payer = random() < 0.25 ? creditAccountOf(WALLET) : undefined
    const useful = amount / 8n + 1n
    const tagged = tags.isOn ? await tags.of(process.book, callId) : undefined
    if (tagged instanceof Refusal) return hit('rules not fresh')
    const held = await process.book.hold({
      callId,
      key,
      sub: named,
      payer,
      tags: tagged?.path,
      amount,
      useful,
      list: ownCall && { amount: ownCall.list, useful: ownCall.list / 8n + 1n },
    })
    if (held instanceof Refusal) return hit(`hold: ${held.code}`)
    if ('outcome' in held) {
      own.refused(held)
      return hit(`hold: ${held.limit}`)
    }
    if (named !== undefined) hit('admitted under a named sub-wallet')
    if (tagged !== undefined) tags.admitted(tagged)
    checkClosed(named ?? key.subWallet)
    const revoked = revokedAt.get(key.id)
    if (revoked !== undefined && world.now() > revoked) fail('admitted after a revocation was acknowledged')
    const newMonth = monthOf(EPOCH + world.now()) !== monthOf(EPOCH)
    if (newMonth) hit('admitted in the new month')
    if (payer !== undefined) hit('admitted on credit')
    await runCall(process, held, {
      amount,
      keyId: key.id,
      payer: payer ?? WALLET,
      newMonth,
      form,
      draws,
      tagged,
      ownCall,
    })
  }

  /** A limit that was lowered to nothing admits nothing more once that is acknowledged. */
  const checkClosed = (sub: string | undefined) => {
    for (const limit of ['day', sub ?? ''])
      if (world.now() > (closedAt.get(limit) ?? Number.POSITIVE_INFINITY))
        fail(`admitted under a limit (${limit}) that was lowered to nothing`)
  }

  const runCall = async (
    process: Process,
    hold: Hold,
    it: {
      amount: bigint
      form: 'whole' | undefined
      draws: Draws
      ownCall: OwnCall | undefined
    } & Pick<Answered, 'keyId' | 'payer' | 'newMonth' | 'tagged'>,
  ): Promise<void> => {
    const { amount, keyId, payer, newMonth, form, tagged, ownCall } = it
    const { pick, random } = it.draws
    const admittedMs = world.now()
    const clockSleep = (ms: number) =>
      new Promise<void>((resolve) => after(ms, () => !process.dead && resolve()))
    // A stream waits for its intent before its first byte; a whole answer lets its charge follow it.
    const streams = form === undefined && random() < 0.6
    if (streams && !(await hold.opened)) return hit('intent refused')
    await clockSleep(streams ? pick(1, random() < 0.05 ? LONGEST_CALL_MS - 500 : 400) : pick(0, 20))
    const basic = (amount * BigInt(pick(1, 120))) / 100n
    let cost = basic
    if (streams && random() < 0.3) {
      const list = ownCall && { to: ownCall.list * 2n, spent: ownCall.list / 2n }
      const extended = await hold.extend(amount * 2n, basic / 2n, false, list)
      if (ownCall !== undefined && extended === 'extended') own.extended(ownCall, hold)
      hit(extended === 'extended' ? 'extended' : 'extension refused')
      if (extended === 'extended') cost += amount / 2n
      await clockSleep(pick(1, 200))
    }
    if (streams && random() < 0.8) hold.checkpoint(basic / 2n, ownCall && ownCall.list / 2n)
    if (random() < 0.08) {
      hit('voided')
      return hold.void()
    }
    const due = cost < hold.amount() ? cost : hold.amount()
    if (cost > due) hit('cost above the hold')
    const askedMs = world.now()
    const vendorEstimate = ownCall?.billed?.toString()
    const settled = await hold
      .settle(cost, { ...detail, keyId, ...(vendorEstimate === undefined ? {} : { vendorEstimate }) })
      .catch((fault: Refusal | Error) => fault)
    // However long the ledger is silent, a charge is made, kept in the outbox, or refused.
    if (world.now() - askedMs > SETTLE_WAIT_MS)
      fail(`an answer waited ${world.now() - askedMs} ms for its charge`)
    const call = {
      callId: hold.callId,
      cost: due,
      keyId,
      payer,
      newMonth,
      admittedMs,
      endedMs: world.now(),
      tagged,
    }
    if (settled instanceof Refusal) {
      if (process.unwritableMs < admittedMs) fail('in doubt, though its journal could be written')
      inDoubt.push(call)
      return hit('settle in doubt')
    }
    if (settled instanceof Error) {
      refused.push(call.callId)
      return hit('settle refused')
    }
    answered.push(call)
    if (ownCall !== undefined) own.answered(ownCall, hold, admittedMs)
    hit(settled.remaining === undefined ? 'answered from the outbox' : 'answered')
  }

  const chaos = () => {
    if (!loading) return
    const event = world.draws(`event ${++events}`)
    const { pick, random } = event
    const slot = pick(0, 2)
    const process = processes[slot]
    const roll = random()
    if (roll < 0.25 && process !== undefined) {
      kill(slot, event)
    } else if (roll < 0.35) {
      outage.down = true
      hit('outage')
      after(pick(50, 3_500), () => {
        outage.down = false
      })
    } else if (roll < 0.55 && process !== undefined) {
      const how = random()
      if (how < 0.3) fallBehind(slot, event)
      else if (how < 0.5) silenceMidway(process, event)
      else partition(process, event)
      if (how > 0.7) takeOver(slot, event)
    } else if (roll < 0.65) {
      deposited += 20_000_000n
      guard(
        store.ledger.post({
          kind: 'topup',
          ref: `t${world.now()}`,
          debit: 'cash',
          credit: 'w',
          amount: 20_000_000n,
        }),
      )
    } else if (roll < 0.73 && process !== undefined) guard(changeCap(process, event))
    else if (roll < 0.85 && process !== undefined)
      guard(
        tags.isOn && roll < 0.8
          ? tags.close(process.book, () => rush(process, event))
          : closeLimit(process, event),
      )
    else if (process !== undefined) guard(revoke(process, rotations.oneOf(pick(0, KEYS - 1)).id, event))
    after(pick(150, 2_200), chaos)
  }

  /** Kills a process and starts its successor, which may be killed while it still recovers. */
  const kill = (slot: number, { pick, random }: Draws) => {
    const process = processes[slot]
    if (process !== undefined) process.dead = true
    disk.loseUnsynced()
    hit('killed')
    begin(slot)
    if (random() < 0.4) after(pick(1, 200), () => loading && kill(slot, { pick, random }))
  }

  /** While a process cannot reach the ledger another one starts and takes its outbox; then it is killed itself. */
  const takeOver = (slot: number, event: Draws) => {
    after(event.pick(900, 2_200), () => loading && kill((slot + 1) % 3, event))
    after(event.pick(2_300, 4_000), () => loading && kill(slot, event))
  }

  /**
   * A process out of touch has no call, so that no stuck commit stops it, until a revocation elsewhere is acknowledged;
   * then callers with that key come to it.
   */
  const fallBehind = (slot: number, event: Draws) => {
    quiet.add(slot)
    after(600, () => {
      const [process, other] = [processes[slot], processes[(slot + 1) % 3]]
      if (!loading || process === undefined || other === undefined) return
      partition(process, event)
      const index = event.pick(0, KEYS - 1)
      const stale = async () => {
        await revoke(other, `k${index}`, event)
        quiet.delete(slot)
        await Promise.all([call(process, event, { index }), call(process, event, { index })])
      }
      guard(stale())
    })
    after(6_000, () => quiet.delete(slot))
  }

  /** The ledger falls silent while it gets intents and, for answers that are there at once, their charges. */
  const silenceMidway = (process: Process, event: Draws) => {
    for (let calls = 0; calls < 8; calls++) guard(call(process, event, { form: 'whole' }))
    after(event.pick(1, 30), () => partition(process, event))
  }

  const partition = ({ link }: Process, event: Draws) => {
    link.partitioned = true
    hit('partition')
    after(event.pick(50, 12_000), () => {
      link.partitioned = false
    })
  }

  /** Puts a process out of touch in a moment, for this long, and passes it on with another one. */
  const cutOff = (slot: number, ms: number): readonly [Counter, Counter] | undefined => {
    const [one, other] = [processes[slot], processes[(slot + 1) % 3]]
    if (closed || one === undefined || other === undefined) return undefined
    const touch = (partitioned: boolean) => () => {
      one.link.partitioned = partitioned
    }
    after(60, touch(true))
    after(60 + ms, touch(false))
    return [one.counter, other.counter]
  }

  /** Calls that come at once, to a process whose answers take long for a while. */
  const rush = (process: Process, event: Draws): void => {
    process.link.slow = true
    for (let calls = 0; calls < 6; calls++) guard(call(process, event))
    after(1_200, () => {
      process.link.slow = false
    })
  }

  /** A new cap, which also lifts a block; never while a revocation of that key is being watched. */
  const changeCap = async (process: Process, { pick, random }: Draws): Promise<void> => {
    const id = rotations.newestOf(1)
    if (revokedAt.has(id)) return
    revokedAt.set(id, Number.POSITIVE_INFINITY)
    const spendCap = BigInt(pick(5, 120)) * 1_000_000n
    const disabledReason = random() < 0.5 ? { disabledReason: null } : {}
    await process.book
      .changeKey(id, { spendCap, byCreator: true, ...disabledReason }, byTest)
      .catch(() => undefined)
    revokedAt.delete(id)
    hit('cap changed')
  }

  /** Lowers a limit to nothing through one process, and opens it again a while after the change was acknowledged. */
  const closeLimit = async (process: Process, event: Draws): Promise<void> => {
    const { pick } = event
    const limit = (['shared', 'named', 'day'] as const)[pick(0, 2)] ?? 'day'
    if (closedAt.has(limit)) return
    const owner = { walletId: WALLET }
    const set = async (amount: bigint) =>
      limit === 'day'
        ? store.wallets.changeWalletRules(WALLET, { dailyLimit: amount }, byTest)
        : store.subWallets.changeSubWallet(owner, limit, { budget: amount }, byTest)
    closedAt.set(limit, Number.POSITIVE_INFINITY)
    const late = processes[pick(0, 2)]
    if (late !== undefined) rush(late, event)
    // Their loans are granted before the change, and arrive after it.
    await new Promise<void>((resolve) => after(10, resolve))
    const changed = await set(1n)
    const acknowledged = await process.book.untilKnown(changed?.at ?? 0).then(
      () => true,
      () => false,
    )
    if (acknowledged) {
      closedAt.set(limit, world.now())
      hit('closed limit acknowledged')
      if (late !== undefined) rush(late, event)
    }
    after(pick(200, 2_000), () => {
      closedAt.delete(limit)
      guard(set(BigInt(pick(10, 200)) * 1_000_000n))
    })
  }

  /** Disables a key through one process, and enables it again a while after the change was acknowledged. */
  const revoke = async (process: Process, id: string, { pick }: Draws): Promise<void> => {
    if (revokedAt.has(id)) return
    revokedAt.set(id, Number.POSITIVE_INFINITY)
    const changed = await process.book
      .changeKey(id, { disabledReason: 'self', byCreator: false }, byTest)
      .catch(() => undefined)
    if (changed === undefined) return void revokedAt.delete(id)
    revokedAt.set(id, world.now())
    hit('revocation acknowledged')
    after(pick(200, 3_000), () => {
      revokedAt.delete(id)
      guard(store.keys.changeKey(id, { disabledReason: null, byCreator: true }, byTest))
    })
  }

  const killAll = () => {
    for (const process of processes) process.dead = true
    disk.loseUnsynced()
  }

  const checkMoney = async (): Promise<void> => {
    await auditNow(true)
    const wallet = await store.wallets.wallet('w')
    if (wallet === undefined || wallet.held !== 0n) fail(`held after everything ended: ${wallet?.held}`)
    const line = await store.credit.creditLine(WALLET)
    if (line === undefined || line.held !== 0n || line.owed > line.limit)
      fail(`the credit line: ${line?.owed} owed and ${line?.held} held of ${line?.limit}`)
    const balances = await Promise.all(
      [WALLET, creditAccountOf(WALLET), 'revenue', 'loss', ...(paying ? payments.accounts() : [])].map(
        (account) => store.ledger.balance(account),
      ),
    )
    if (balances.reduce((sum, one) => sum + one, 0n) !== deposited) fail('money was made or lost')
    if (disk.names().length > 0) fail(`an outbox is left after everything ended: ${disk.names()}`)
    await checkBills()
    await repeats.check(store)
    if (paying) await payments.finish()
    finished = true
  }

  /** A call is charged to the month it was admitted in: the new month's counters hold at least its answered calls. */
  const checkMonth = async (exact: readonly Answered[]): Promise<void> => {
    for (const { id } of keys) {
      const own = exact
        .filter(({ keyId, newMonth }) => keyId === id && newMonth)
        .reduce((sum, { cost }) => sum + cost, 0n)
      const { spentThisMonth, spentToday } = await store.keys.spend(id)
      if (spentThisMonth < own || spentToday < own) fail('a call of the new month was charged to the old')
    }
  }

  /** Every answered call is in the ledger once, at its price; no refused call is. */
  const checkBills = async (): Promise<void> => {
    for (const callId of refused)
      if ((await store.ledger.transfersOf(callId)).length > 0) fail('refused, and charged all the same')
    // Their callers were told that they may have been charged.
    for (const call of inDoubt) {
      const outcome = await standing(store, call)
      if (outcome !== 'not billed' && !fine.includes(outcome)) fail(`may have been charged, ${outcome}`)
    }
    const exact: Answered[] = []
    for (const call of answered) {
      const outcome = await standing(store, call)
      // A charge that reaches the ledger in time is charged in full: the reaper waits as long as a call may last.
      const inTime =
        (settledMs.get(call.callId) ?? Number.POSITIVE_INFINITY) - call.admittedMs < LONGEST_CALL_MS
      if (!fine.includes(outcome) || (inTime && outcome !== 'exact')) fail(`answered, ${outcome}`)
      hit(`bill: ${outcome}`)
      if (outcome === 'exact') exact.push(call)
    }
    for (const { tagged, cost } of exact) if (tagged !== undefined) tags.ended(tagged, cost)
    await own.check()
    await tags.check()
    await checkMonth(exact)
    await rotations.check(exact)
  }

  return {
    start: () => guard(setUp()),
    stopLoad: () => {
      loading = false
      outage.down = false
      for (const process of processes) process.link.partitioned = false
    },
    finish: () => {
      // Nobody calls the process that brings in what others left.
      closed = true
      killAll()
      // What they left in their outboxes is brought in by the next start.
      begin(0)
      // The longest lease ends ten seconds after it was lent.
      after(12_000, () => {
        killAll()
        guard(recover(store).then(checkMoney))
      })
    },
    finished: () => finished,
  }
}
