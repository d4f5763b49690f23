/** One open call's money: taken from a lease, made durable, extended, and ended once by a charge or a void. */
import type { Log } from '../core/log.ts'
import { greatest, least, type Nano } from '../core/money.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import type { AccountId, CallId, Settle, UsageDetail } from '../ledger/words.ts'
import type { Key } from '../tenancy/key.ts'
import { endHold, type Lease } from './lease.ts'
import type { Hold, Settled } from './words.ts'
import type { Writer } from './writer.ts'

type HoldParts = {
  readonly writer: Writer
  readonly log: Log
  /** Takes further room for this call, on the lease it has. */
  readonly more: (hold: OpenHold, extra: Nano) => Promise<boolean>
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
  readonly lease: Lease
  readonly opened: Promise<boolean>
  readonly #parts: HoldParts
  #amount: Nano
  #over = false
  #voided: Promise<void> = Promise.resolve()

  constructor(parts: HoldParts, it: HeldCall) {
    this.callId = it.callId
    this.key = it.key
    this.sub = it.sub
    this.account = it.account
    this.lease = it.lease
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

  async extend(to: Nano, spent: Nano): Promise<boolean> {
    const extra = to - this.#amount
    if (extra <= 0n || this.#over) return extra <= 0n
    if (!(await this.#parts.more(this, extra))) return false
    if (this.#over) {
      // Sent now, it could only extend a repeat under the same id.
      endHold(this.lease, extra, 0n)
      return false
    }
    return new Promise((resolve) => {
      this.#parts.writer.progress({ callId: this.callId, hold: to, spent }, (extended) => {
        if (extended && !this.#over) this.#amount = to
        else endHold(this.lease, extra, 0n)
        resolve(extended)
      })
    })
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
          endHold(this.lease, this.#amount, greatest(remaining === undefined ? 0n : charge, chargedBefore))
          this.#parts.ended(this)
          if (remaining === undefined) reject(this.#notSettled(chargedBefore))
          else resolve({ charged: charge, remaining })
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
        endHold(this.lease, this.#amount, chargedBefore)
        this.#parts.ended(this)
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

  #end(): void {
    if (this.#over) throw new Error(`the hold of call ${this.callId} ended twice`)
    this.#over = true
  }
}

const nothing = (): void => undefined
