/**
 * The open holds of this process: taken from the lease pool, extended from it, and counted until the last has ended.
 */
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { HoldRefused, HoldRequest, Soon } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { KnownKeys } from './known-keys.ts'
import { endHold, type Lease, pathOf } from './lease.ts'
import type { LeasePool } from './lease-pool.ts'
import type { LeaseTaken } from './lease-slot.ts'
import { type HoldParts, OpenHold } from './open-hold.ts'
import type { Touch } from './touch.ts'
import type { Writer } from './writer.ts'

/** The result of asking for a hold. */
type Held = OpenHold | HoldRefused | Refusal

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
}

export class OpenHolds {
  readonly #parts: HoldsParts
  readonly #ofHolds: HoldParts
  #count = 0
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
    const { key, amount, useful, waits = false, signal } = ask
    const { keyId, sub, payer } = pathOf(key, ask.sub, ask.payer)
    const taken = this.#parts.leases.take({ keyId, sub, payer, amount, useful, waits, signal })
    return taken instanceof Promise ? this.#holdLater(ask, taken) : this.#open(ask, taken)
  }

  async #holdLater(ask: HoldRequest, taken: Promise<LeaseTaken>): Promise<Held> {
    const giveBack = (late: LeaseTaken) => {
      if (!(late instanceof Refusal || 'outcome' in late)) endHold(late, ask.amount, 0n)
    }
    return this.#open(ask, await this.#parts.touch.whileInTouch(taken, giveBack))
  }

  #open({ callId, key, sub, payer, amount }: HoldRequest, lease: LeaseTaken): Held {
    if (lease instanceof Refusal || 'outcome' in lease) return lease
    this.#count++
    return new OpenHold(this.#ofHolds, { callId, key, sub, payer, lease, amount })
  }

  /** Takes room for a call to hold `to` in all: more of its own lease or, if that is over, all of it on another. */
  async #more(hold: OpenHold, to: Nano, waits: boolean): Promise<Lease | undefined> {
    const { heartbeat, gate, leases } = this.#parts
    const path = pathOf(hold.key, hold.sub, hold.payer)
    for (let tries = 0; tries < MOVES; tries++) {
      if (!heartbeat.fresh()) await gate.untilFresh()
      const moves = leases.leaseOf(path) !== hold.lease
      const amount = moves ? to : to - hold.amount()
      const taken = await leases.take({ ...path, amount, useful: 0n, alreadyHeld: hold.amount(), waits })
      if (taken instanceof Refusal || 'outcome' in taken) return undefined
      if ((taken !== hold.lease) === moves) return taken
      // Its lease was replaced while it asked.
      endHold(taken, amount, 0n)
    }
    return undefined
  }

  #ended(): void {
    this.#count--
    this.#parts.leases.holdEnded()
    if (this.#count === 0) this.#lastEnded?.()
  }
}
