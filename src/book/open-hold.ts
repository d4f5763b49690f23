/** One open call's money: taken from a lease, made durable, extended, and ended once by a charge or a void. */
import type { Log } from '../core/log.ts'
import { greatest, least, type Nano } from '../core/money.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import type { AccountId, CallId, Settle, UsageDetail } from '../ledger/words.ts'
import type { Key } from '../tenancy/key.ts'
import { endHold, type Lease, leastLeft } from './lease.ts'
import type { Hold, Settled } from './words.ts'
import type { Writer } from './writer.ts'

type HoldParts = {
  readonly writer: Writer
  readonly log: Log
  /** Takes room for this call to hold `to`: on the lease it has, or for all of it on another. */
  readonly more: (hold: OpenHold, to: Nano, waits: boolean) => Promise<Lease | undefined>
  readonly ended: (hold: OpenHold) => void
}

type HeldCall = {
  readonly callId: CallId
  readonly key: Key
  readonly sub: string | undefined
  readonly account: AccountId | undefined
  readonly lease: Lease
  readonly amount: Nano
}

export class OpenHold implements Hold {
  readonly callId: CallId
  readonly key: Key
  /** The sub-wallet that the call named. */
  readonly sub: string | undefined
  /** What pays when it is not the key's wallet. */
  readonly account: AccountId | undefined
  readonly opened: Promise<boolean>
  readonly #parts: HoldParts
  #lease: Lease
  #amount: Nano
  #over = false
  #concluded = false
  #voided: Promise<void> = Promise.resolve()

  constructor(parts: HoldParts, it: HeldCall) {
    this.callId = it.callId
    this.key = it.key
    this.sub = it.sub
    this.account = it.account
    this.#lease = it.lease
    this.#parts = parts
    this.#amount = it.amount
    this.opened = new Promise((resolve) => {
      parts.writer.intent({ callId: it.callId, leaseId: it.lease.id, hold: it.amount }, (opened) => {
        if (!opened) this.void()
        resolve(opened)
      })
    })
  }

  amount(): Nano {
    return this.#amount
  }

  /** The lease its money is taken from; another one after the hold had to move. */
  get lease(): Lease {
    return this.#lease
  }

  async extend(to: Nano, spent: Nano, waits: boolean): Promise<boolean> {
    const extra = to - this.#amount
    if (extra <= 0n || this.#over) return extra <= 0n
    const lease = await this.#parts.more(this, to, waits)
    if (lease === undefined) return false
    const moves = lease !== this.#lease
    const taken = moves ? to : extra
    // Only what the ledger knows can move; and sent after the end, it could only extend a repeat under the same id.
    if (this.#over || (moves && !(await this.opened)) || this.#over) {
      endHold(lease, taken, 0n)
      return false
    }
    const progress = { callId: this.callId, hold: to, spent, ...(moves ? { leaseId: lease.id } : {}) }
    return new Promise((resolve) => {
      this.#parts.writer.progress(progress, (extended) => {
        if (extended && !this.#concluded) this.#grow(lease, to)
        else endHold(lease, taken, 0n)
        resolve(extended)
      })
    })
  }

  /** The ledger has the larger hold; a call that was settled meanwhile ends with it. */
  #grow(lease: Lease, to: Nano): void {
    if (lease !== this.#lease) endHold(this.#lease, this.#amount, 0n)
    this.#lease = lease
    this.#amount = to
  }

  checkpoint(spent: Nano): void {
    if (!this.#over) this.#parts.writer.progress({ callId: this.callId, hold: this.#amount, spent }, nothing)
  }

  settle(cost: Nano, detail: UsageDetail, answer?: Settle['answer']): Promise<Settled> {
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
      walletId: this.account ?? this.key.walletId,
      charge,
      excess,
      detail,
      ...(answer === undefined ? {} : { answer }),
    }
    return new Promise((resolve, reject) => {
      this.#parts.writer.settle(settle, {
        kept: () => resolve({ charged: charge, remaining: undefined }),
        dropped: () => reject(new Error(`the intent of call ${this.callId} was given up`)),
        // Until the ledger has the charge it counts the call as open, and so the lease does too.
        done: (remaining, chargedBefore) => {
          this.#conclude(greatest(remaining === undefined ? 0n : charge, chargedBefore))
          if (remaining === undefined) reject(this.#notSettled(chargedBefore))
          else resolve({ charged: charge, remaining: leastLeft(this.lease, remaining) })
        },
      })
    })
  }

  void(): Promise<void> {
    if (this.#over) return this.#voided
    this.#end()
    this.#voided = new Promise((resolve) => {
      // The room is free again only when the ledger has forgotten the intent; another attempt may have used it up.
      this.#parts.writer.void(this.callId, (chargedBefore) => {
        this.#conclude(chargedBefore)
        resolve()
      })
    })
    return this.#voided
  }

  #notSettled(chargedBefore: Nano): Refusal | Error {
    return chargedBefore > 0n
      ? unavailable('Another attempt of this call was answered; send it again for that answer.')
      : new Error(`call ${this.callId} was not open when it was settled`)
  }

  /** The ledger has its end: the money that is left is free again. */
  #conclude(charged: Nano): void {
    this.#concluded = true
    endHold(this.#lease, this.#amount, charged)
    this.#parts.ended(this)
  }

  #end(): void {
    if (this.#over) throw new Error(`the hold of call ${this.callId} ended twice`)
    this.#over = true
  }
}

const nothing = (): void => undefined
