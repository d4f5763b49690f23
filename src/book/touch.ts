/** Waits for the ledger end when touch with it is lost: one deadline for all of them, that of the heartbeat. */
import { type Refusal, unavailable } from '../core/refusal.ts'

type Touch = {
  /** The outcome of the work, or a refusal when touch is lost before; `late` is then given what comes of it. */
  whileInTouch<T>(work: T | Promise<T>, late?: (outcome: T) => void): T | Promise<T | Refusal>
  /** Ends the waits if touch is lost; called a few times a second. */
  check(): void
}

/** The 503 of a ledger that does not answer. */
export const unreachable = (): Refusal => unavailable('The ledger cannot be reached.')

const nothing = (): void => undefined

export const newTouch = (inTouch: () => boolean): Touch => {
  const waits = new Set<() => void>()
  const bounded = <T>(work: Promise<T>, late: (outcome: T) => void): Promise<T | Refusal> => {
    const { promise, resolve, reject } = Promise.withResolvers<T | Refusal>()
    const giveUp = () => resolve(unreachable())
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
    whileInTouch: (work, late = nothing) => (work instanceof Promise ? bounded(work, late) : work),
    check: () => {
      if (waits.size === 0 || inTouch()) return
      for (const giveUp of waits) giveUp()
      waits.clear()
    },
  }
}
