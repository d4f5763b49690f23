/**
 * The open holds of this process: each call's money is taken from the lease pool, made durable, extended, and ended once
 * by a charge or a void.
 */
import type { Log } from '../core/log.ts'
import { greatest, least, type Nano } from '../core/money.ts'
import { Refusal, refuse, retryIn, unavailable } from '../core/refusal.ts'
import { estimateAccountOf, estimateOf } from '../ledger/estimates.ts'
import type { AccountId, CallId, InstanceId, Settle, UsageDetail } from '../ledger/types.ts'
import type { VoucherOfCall } from '../ledger/voucher.ts'
import type { Key } from '../tenancy/key.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { KnownKeys } from './callers.ts'
import type { Extended, Hold, HoldRefused, HoldRequest, SettledHold, Soon } from './contract.ts'
import { EstimatedHold, type Half } from './estimated-hold.ts'
import type { Heartbeat } from './heartbeat.ts'
import { doubt, endHold, type Lease, type LeaseTaken, leastLeft, pathOf } from './lease.ts'
import type { LeasePool } from './lease-pool.ts'
import type { IntentEnds, SettleEnds } from './operation-queue.ts'
import type { Touch } from './touch.ts'
import type { Writer } from './writer.ts'

type HoldParts = {
  readonly writer: Writer
  readonly log: Log
  /** Takes room for this call to hold `to`: on its present lease, or all of it on another. */
  readonly more: (hold: OpenHold, to: Nano, waits: boolean) => Promise<Lease | Exclude<Extended, 'extended'>>
  readonly ended: () => void
}

type HeldCall = Pick<HoldRequest, 'sub' | 'payer' | 'tags' | 'voucher'> & {
  readonly callId: CallId
  readonly key: Key
  readonly lease: Lease
  readonly amount: Nano
}

const DONE = Promise.resolve()

/** One open call's money: taken from a lease, made durable, extended, and ended once by a charge or a void. */
class OpenHold implements Half, IntentEnds {
  readonly callId: CallId
  readonly key: Key
  /** The sub-wallet that the call named. */
  readonly sub: string | undefined
  /** The account that pays when it is not the key's wallet. */
  readonly payer: AccountId | undefined
  /** What it is for, of the tags under budget. */
  readonly tags: string | undefined
  readonly #voucher: VoucherOfCall | undefined
  readonly #parts: HoldParts
  #lease: Lease
  #amount: Nano
  /** Whether the intent is durable, once that is known, and who waits for it. */
  #known: boolean | undefined
  #resolveOpened: ((opened: boolean) => void) | undefined
  #opened: Promise<boolean> | undefined
  #over = false
  #concluded = false
  #voided: Promise<void> = DONE
  #growing: Promise<unknown> = DONE

  constructor(parts: HoldParts, it: HeldCall) {
    this.callId = it.callId
    this.key = it.key
    this.sub = it.sub
    this.payer = it.payer
    this.tags = it.tags
    this.#voucher = it.voucher
    this.#lease = it.lease
    this.#parts = parts
    this.#amount = it.amount
    const { callId, lease, amount: hold, voucher } = it
    parts.writer.intent({ callId, leaseId: lease.id, hold, voucher }, this)
  }

  intentEnded(opened: boolean): void {
    if (this.#known !== undefined) return
    this.#known = opened
    if (!opened) {
      doubt(this.#lease)
      void this.void()
    }
    this.#resolveOpened?.(opened)
  }

  /** Most calls never ask, because their settlement follows their intent. */
  get opened(): Promise<boolean> {
    if (this.#known !== undefined) return Promise.resolve(this.#known)
    this.#opened ??= new Promise((resolve) => {
      this.#resolveOpened = resolve
    })
    return this.#opened
  }

  amount(): Nano {
    return this.#amount
  }

  /** The lease its money comes from; another one after the hold had to move. */
  get lease(): Lease {
    return this.#lease
  }

  extend(to: Nano, spent: Nano, waits: boolean): Promise<Extended> {
    // One after the other: each extension takes what it needs beyond the previous one, which may still be waiting for
    // the ledger.
    const extended = this.#growing.then(() => this.#extend(to, spent, waits))
    this.#growing = extended.catch(nothing)
    return extended
  }

  async #extend(to: Nano, spent: Nano, waits: boolean): Promise<Extended> {
    const extra = to - this.#amount
    if (extra <= 0n) return 'extended'
    if (this.#over) return 'refused'
    const lease = await this.#parts.more(this, to, waits)
    if (typeof lease === 'string') return lease
    const moves = lease !== this.#lease
    const taken = moves ? to : extra
    // Only a hold that the ledger knows can move. A move sent after the call's end could only extend a repeat under the
    // same id.
    if (this.#over || (moves && !(await this.opened)) || this.#over) {
      endHold(lease, taken, 0n)
      return 'refused'
    }
    const progress = { callId: this.callId, hold: to, spent, ...(moves ? { leaseId: lease.id } : {}) }
    return new Promise((resolve) => {
      this.#parts.writer.progress(progress, (extended) => {
        if (extended && !this.#concluded) this.#grow(lease, to)
        else endHold(lease, taken, 0n)
        resolve(extended ? 'extended' : 'refused')
      })
    })
  }

  /** The ledger has the larger hold; if the call was settled meanwhile, the larger hold ends with it. */
  #grow(lease: Lease, to: Nano): void {
    if (lease !== this.#lease) endHold(this.#lease, this.#amount, 0n)
    this.#lease = lease
    this.#amount = to
  }

  checkpoint(spent: Nano): void {
    if (!this.#over) this.#parts.writer.progress({ callId: this.callId, hold: this.#amount, spent }, nothing)
  }

  settle(cost: Nano, detail: UsageDetail | undefined, answer?: Settle['answer']): Promise<SettledHold> {
    // Its intent was given up while the call ran.
    if (this.#over) return Promise.reject(new Error(`call ${this.callId} was over before it was settled`))
    const charge = least(cost, this.#amount)
    const excess = cost - charge
    this.#end()
    if (excess > 0n)
      this.#parts.log.warn('cost above the hold; the house pays the rest', {
        call: this.callId,
        charged: charge,
        excess,
      })
    const settle: Settle = {
      callId: this.callId,
      leaseId: this.lease.id,
      payer: this.payer ?? this.key.walletId,
      charge,
      excess,
      detail,
      voucher: this.#voucher,
      answer,
    }
    const settling = new Settling(this, charge)
    this.#parts.writer.settle(settle, settling)
    return settling.settled.promise
  }

  void(): Promise<void> {
    if (this.#over) return this.#voided
    this.#end()
    this.#voided = new Promise((resolve) => {
      // The room is free again only when the ledger has forgotten the intent; another attempt may have used it up.
      this.#parts.writer.void(this.callId, (chargedBefore) => {
        this.conclude(chargedBefore)
        resolve()
      })
    })
    return this.#voided
  }

  /** The ledger knows that the call has ended, so the remaining money is free again. */
  conclude(charged: Nano): void {
    this.#concluded = true
    endHold(this.#lease, this.#amount, charged)
    this.#parts.ended()
  }

  #end(): void {
    if (this.#over) throw new Error(`the hold of call ${this.callId} ended twice`)
    this.#over = true
  }
}

/** A settlement in progress. */
class Settling implements SettleEnds {
  readonly settled = Promise.withResolvers<SettledHold>()
  readonly #hold: OpenHold
  readonly #charge: Nano

  constructor(hold: OpenHold, charge: Nano) {
    this.#hold = hold
    this.#charge = charge
  }

  kept(): void {
    this.settled.resolve({ charged: this.#charge, remaining: undefined })
  }

  dropped(): void {
    this.settled.reject(new Error(`the intent of call ${this.#hold.callId} was given up`))
  }

  inDoubt(): void {
    this.settled.reject(chargeInDoubt())
  }

  /** Until the ledger has the charge it counts the call as open, so the lease does too. */
  done(remaining: Nano | undefined, chargedBefore: Nano): void {
    this.#hold.conclude(greatest(remaining === undefined ? 0n : this.#charge, chargedBefore))
    if (remaining === undefined) this.settled.reject(notSettled(this.#hold.callId, chargedBefore))
    else this.settled.resolve({ charged: this.#charge, remaining: leastLeft(this.#hold.lease, remaining) })
  }
}

const notSettled = (callId: CallId, chargedBefore: Nano): Refusal | Error =>
  chargedBefore > 0n
    ? unavailable('Another attempt of this call was answered; send it again for that answer.')
    : new Error(`call ${callId} was not open when it was settled`)

const chargeInDoubt = (): Refusal =>
  refuse(
    'service_unavailable',
    'The ledger fell silent while this call was charged, so it may have been charged. Sent again with the same Idempotency-Key it is not charged twice; its request id tells whether it was.',
    retryIn(2),
  )

const nothing = (): void => undefined

/** Room for an estimate, which is not open yet, or why there is none. */
type Counted =
  | { readonly open: () => OpenHold }
  | { readonly open: undefined; readonly refused: HoldRefused | Refusal }

/** The result of asking for a hold. */
type Held = OpenHold | EstimatedHold | HoldRefused | Refusal

const isNone = (taken: LeaseTaken): taken is Exclude<LeaseTaken, Lease> =>
  taken instanceof Refusal || 'outcome' in taken

/** How often a growing hold follows its path to another lease. */
const MOVES = 3

type HoldsParts = {
  readonly gate: AdmissionGate
  readonly heartbeat: Pick<Heartbeat, 'fresh'>
  readonly keys: Pick<KnownKeys, 'learn'>
  readonly leases: LeasePool
  readonly touch: Touch
  readonly writer: Writer
  readonly log: Log
  readonly instance: InstanceId
}

export class OpenHolds {
  readonly #parts: HoldsParts
  readonly #ofHolds: HoldParts
  #count = 0
  /** How many estimates there were. */
  #estimates = 0
  #lastEnded: (() => void) | undefined

  constructor(parts: HoldsParts) {
    this.#parts = parts
    this.#ofHolds = {
      writer: parts.writer,
      log: parts.log,
      more: (hold, to, waits) => this.#more(hold, to, waits),
      ended: () => this.#ended(),
    }
  }

  get count(): number {
    return this.#count
  }

  /** Holds money, or says why not; see Book. */
  hold(ask: HoldRequest): Soon<Held> {
    const { keys, heartbeat } = this.#parts
    keys.learn(ask.key)
    const held = this.#holdNow(ask)
    return held instanceof Refusal && !heartbeat.fresh() ? this.#holdFresh(ask) : held
  }

  async #holdFresh(ask: HoldRequest): Promise<Held> {
    await this.#parts.gate.untilFresh()
    return this.#holdNow(ask)
  }

  /** Resolves when none is open. One wait at a time. */
  allEnded(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#lastEnded = resolve
    })
  }

  #holdNow(ask: HoldRequest): Soon<Held> {
    if (ask.list !== undefined) return this.#holdBoth(ask, ask.list)
    const taken = this.#take(ask)
    return taken instanceof Promise ? this.#holdLater(ask, taken) : this.#open(ask, taken)
  }

  #take(ask: HoldRequest): LeaseTaken | Promise<LeaseTaken> {
    const { amount, useful, waits = false, signal } = ask
    const { keyId, sub, payer, tags } = pathOf(ask)
    return this.#parts.leases.take({ keyId, sub, payer, tags, amount, useful, waits, signal })
  }

  async #holdLater(ask: HoldRequest, taken: Promise<LeaseTaken>): Promise<Held> {
    return this.#open(ask, await this.#inTouch(ask, taken))
  }

  #inTouch({ amount }: HoldRequest, taken: Promise<LeaseTaken>): Promise<LeaseTaken> {
    const giveBack = (late: LeaseTaken) => {
      if (!isNone(late)) endHold(late, amount, 0n)
    }
    return this.#parts.touch.whileInTouch(taken, giveBack)
  }

  /** Takes the room of both, and opens them together: the intents of a call are in one commit. */
  async #holdBoth(ask: HoldRequest, list: NonNullable<HoldRequest['list']>): Promise<Held> {
    const { gate, heartbeat } = this.#parts
    if (!heartbeat.fresh()) await gate.untilFresh()
    const charged = await this.#inTouch(ask, Promise.resolve(this.#take(ask)))
    if (isNone(charged)) return charged
    try {
      const counted = await this.#room({ ...ask, ...list })
      if (counted.open !== undefined) return new EstimatedHold(this.#opened(ask, charged), counted.open())
      endHold(charged, ask.amount, 0n)
      return counted.refused
    } catch (fault) {
      endHold(charged, ask.amount, 0n)
      throw fault
    }
  }

  /** See Book. */
  async holdBeside(charged: Hold, ask: HoldRequest): Promise<Held> {
    const { gate, heartbeat, keys } = this.#parts
    keys.learn(ask.key)
    if (!heartbeat.fresh()) await gate.untilFresh()
    const counted = await this.#room(ask)
    return counted.open === undefined ? counted.refused : new EstimatedHold(charged, counted.open(), true)
  }

  /** Takes the room of what the vendor bills, which is asked for. Each attempt is billed by its vendor, so each has an estimate of its own. */
  async #room({ callId, voucher: _, ...ask }: HoldRequest): Promise<Counted> {
    const estimate: HoldRequest = {
      ...ask,
      payer: estimateAccountOf(ask.key.walletId),
      callId: estimateOf(callId, `${this.#parts.instance}:${++this.#estimates}`),
    }
    const taken = await this.#inTouch(estimate, Promise.resolve(this.#take(estimate)))
    if (!isNone(taken)) return { open: () => this.#opened(estimate, taken) }
    return { open: undefined, refused: taken instanceof Refusal ? taken : { ...taken, estimated: true } }
  }

  #open(ask: HoldRequest, lease: LeaseTaken): Held {
    return isNone(lease) ? lease : this.#opened(ask, lease)
  }

  #opened({ callId, key, sub, payer, tags, amount, voucher }: HoldRequest, lease: Lease): OpenHold {
    this.#count++
    return new OpenHold(this.#ofHolds, { callId, key, sub, payer, tags, lease, amount, voucher })
  }

  /** Takes room for a call to hold `to` in all: more of its own lease or, if that is over, all of it on another. */
  async #more(hold: OpenHold, to: Nano, waits: boolean): Promise<Lease | Exclude<Extended, 'extended'>> {
    const { heartbeat, gate, leases } = this.#parts
    const path = pathOf(hold)
    for (let tries = 0; tries < MOVES; tries++) {
      if (!heartbeat.fresh()) await gate.untilFresh()
      const moves = leases.leaseOf(path) !== hold.lease
      const amount = moves ? to : to - hold.amount()
      const taken = await leases.take({ ...path, amount, useful: 0n, alreadyHeld: hold.amount(), waits })
      if (taken instanceof Refusal) return taken.code === 'service_unavailable' ? 'away' : 'refused'
      if ('outcome' in taken) return 'refused'
      if ((taken !== hold.lease) === moves) return taken
      // Its lease was replaced while it asked.
      endHold(taken, amount, 0n)
    }
    return 'away'
  }

  #ended(): void {
    this.#count--
    this.#parts.leases.holdEnded()
    if (this.#count === 0) this.#lastEnded?.()
  }
}
