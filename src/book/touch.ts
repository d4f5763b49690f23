/** Ends waits for the ledger when touch with it is lost: one deadline for all of them, that of the heartbeat. */
import { type Refusal, unavailable } from '../core/refusal.ts'
import { StoreFault } from '../store/faults.ts'
import type { Store } from '../store/port.ts'
import type { Book } from './contract.ts'

export type Touch = {
  /** The outcome of the work, or a refusal if touch is lost first; `late` then gets the work's eventual result. */
  whileInTouch<T>(work: Promise<T>, late?: (outcome: T) => void): Promise<T | Refusal>
  /** The same for callers that handle faults: rejects with a StoreFault if touch is lost first. */
  insist<T>(work: Promise<T>): Promise<T>
  /** Ends the waits if touch is lost; called a few times a second. */
  check(): void
}

/** The 503 for a ledger that does not answer. */
export const unreachable = (): Refusal => unavailable('The ledger cannot be reached.')

const nothing = (): void => undefined

/** The outcome of a wait that ended with touch; what the work itself gives may be a refusal. */
const LOST = Symbol('lost')

export const newTouch = (inTouch: () => boolean): Touch => {
  const waits = new Set<() => void>()
  const bounded = <T, L>(work: Promise<T>, late: (outcome: T) => void, lost: () => L): Promise<T | L> => {
    const { promise, resolve, reject } = Promise.withResolvers<T | L>()
    const giveUp = () => resolve(lost())
    waits.add(giveUp)
    work.then(
      (outcome) => (waits.delete(giveUp) ? resolve(outcome) : late(outcome)),
      (fault: unknown) => {
        waits.delete(giveUp)
        reject(fault)
      },
    )
    return promise
  }
  return {
    whileInTouch: (work, late = nothing) => bounded(work, late, unreachable),
    insist: async (work) => {
      const outcome = await bounded(work, nothing, (): typeof LOST => LOST)
      if (outcome === LOST) throw new StoreFault('touch with the ledger was lost')
      return outcome
    },
    check: () => {
      if (waits.size === 0 || inTouch()) return
      for (const giveUp of waits) giveUp()
      waits.clear()
    },
  }
}

/** The store for code that answers callers: every request to any of its ports ends when touch is lost. */
export const storeInTouch = (store: Store, { whileInTouch }: Pick<Book, 'whileInTouch'>): Store => {
  const partInTouch = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member === 'object' && member !== null) return partInTouch(member)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => whileInTouch(Promise.resolve(member.apply(target, args)))
      },
    })
  return partInTouch(store)
}
