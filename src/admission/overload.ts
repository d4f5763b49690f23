/**
 * Overload: when a process has been late with its work for a while, it turns part of the new calls away before it has worked
 * for them, so that what it takes in ends well. The part grows while it stays late and shrinks when it is not.
 */

export type Overload = {
  /** Notes that after `elapsedMs` the process was late by `lateMs`; to be told many times a second. */
  note(elapsedMs: number, lateMs: number): void
  /** Whether a call is turned away; `chance` is a random number from 0 to 1. */
  turnsAway(chance: number): boolean
}

/** A burst is no overload: it is over before this. */
const BURST_MS = 1_000
const STEP_MS = 50
/** By what the part that is let in changes in a late step, and in one that is in time. */
const LESS = 0.9
const MORE = 1.05
/** Some are always let in: they show when it is over. */
const LEAST = 0.02

/** `lateMs`: how late counts as too late; 0 turns nobody away. */
export const newOverload = (tooLateMs: number): Overload => {
  let lateForMs = 0
  let beforeMs = 0
  let letIn = 1
  return {
    note: (elapsedMs, lateMs) => {
      const steps = elapsedMs / STEP_MS
      const catchesUp = lateMs < beforeMs && lateMs < BURST_MS
      beforeMs = lateMs
      const late = tooLateMs > 0 && lateMs > tooLateMs
      lateForMs = late ? lateForMs + elapsedMs : 0
      if (!late) letIn = Math.min(1, letIn * MORE ** steps)
      else if (!catchesUp && (letIn < 1 || lateForMs >= BURST_MS))
        letIn = Math.max(LEAST, letIn * LESS ** steps)
    },
    turnsAway: (chance) => letIn < 1 && chance >= letIn,
  }
}
