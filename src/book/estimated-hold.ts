/**
 * The hold of a call by an own key of its organisation: what is charged, and beside it what the vendor bills the organisation,
 * estimated by the list price. Only the first is paid here; both count under caps. They are two holds, each on a lease of its
 * own, so lending, fencing, commits and recovery know one amount each.
 */
import { least, type Nano } from '../core/money.ts'
import type { CallId, Settle, UsageDetail } from '../ledger/types.ts'
import type { Extended, Hold, ListPriced, SettledHold } from './contract.ts'

/** A hold that may be settled without a detail: the one of its call tells what was used. */
export type Half = Omit<Hold, 'settle' | 'estimate'> & {
  settle(cost: Nano, detail: UsageDetail | undefined, answer?: Settle['answer']): Promise<SettledHold>
}

export class EstimatedHold implements Hold {
  readonly callId: CallId
  readonly #charged: Half
  readonly #estimated: Half
  readonly #apart: boolean
  #opened: Promise<boolean> | undefined

  /** `apart`: the charge is committed by another than this book. */
  constructor(charged: Half, estimated: Half, apart = false) {
    this.callId = charged.callId
    this.#charged = charged
    this.#estimated = estimated
    this.#apart = apart
  }

  amount(): Nano {
    return this.#charged.amount()
  }

  estimate(): Nano {
    return this.#estimated.amount()
  }

  /** One of them may be fenced and the other not. */
  get opened(): Promise<boolean> {
    this.#opened ??= Promise.all([this.#charged.opened, this.#estimated.opened]).then((both) => {
      const open = both.every((one) => one)
      if (!open) void this.void()
      return open
    })
    return this.#opened
  }

  async extend(to: Nano, spent: Nano, waits: boolean, list?: ListPriced): Promise<Extended> {
    const more = list === undefined ? 'extended' : await this.#estimated.extend(list.to, list.spent, waits)
    return more === 'extended' ? this.#charged.extend(to, spent, waits) : more
  }

  checkpoint(spent: Nano, list?: Nano): void {
    this.#charged.checkpoint(spent)
    if (list !== undefined) this.#estimated.checkpoint(list)
  }

  /** Nothing is answered uncounted: a call whose estimate was fenced is not charged. */
  async settle(cost: Nano, detail: UsageDetail, answer?: Settle['answer']): Promise<SettledHold> {
    if (!(await this.opened)) throw new Error(`call ${this.callId} was over before it was settled`)
    // In this order, and both before anything is awaited: no commit has the charge without the estimate. A charge that another
    // commits waits until the ledger has the estimate.
    const counting = this.#count(detail.vendorEstimate)
    if (this.#apart) await counting
    const [charged] = await Promise.allSettled([this.#charged.settle(cost, detail, answer), counting])
    if (charged.status === 'rejected') throw charged.reason
    return charged.value
  }

  /** None where the house's key answered. */
  #count(estimate: string | undefined): Promise<unknown> {
    if (estimate === undefined) return this.#estimated.void()
    return this.#estimated.settle(least(BigInt(estimate), this.#estimated.amount()), undefined)
  }

  async void(): Promise<void> {
    await Promise.all([this.#charged.void(), this.#estimated.void()])
  }
}
