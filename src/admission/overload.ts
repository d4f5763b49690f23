/**
 * Overload: how many calls a process has in hand at once. While it is in time there is no limit. When it has been late for a
 * while the limit is what it can do in time, and calls beyond it are turned away before anything is done for them; what was
 * taken in is never given up. The limit follows the lateness that it leads to, so that nobody has to know what a call costs:
 * one that waits for its vendor costs nothing, an open stream as much as its pieces.
 */

export type Overload = {
  /**
   * Notes that after `elapsedMs` the process was late by so much of what it may be: 1 is too late. To be told many times
   * a second while calls come.
   */
  note(elapsedMs: number, lateness: number): void
  /** Whether any call may be turned away now. */
  limits(): boolean
  /** Whether a call is turned away now, whoever makes it. */
  turnsAllAway(): boolean
  /** Whether a call of this caller is turned away now. */
  turnsAway(caller: string): boolean
  /** Notes a call in hand, and that it has ended. */
  enter(caller: string): void
  leave(caller: string): void
  /** How many calls are in hand. */
  readonly inHand: () => number
}

/** A burst is no overload: it is over before this. */
const BURST_MS = 1_000
/** The limit changes no more often; a change shows in the lateness when some turns have passed. */
const STEP_MS = 50
const NOTES_A_STEP = 5
/** Where turns are long, two are enough. */
const STEP_MS_MAX = 400
/** A pause of the process, however long, is one moment in which it was late. */
const NOTE_MS_MAX = 250
/** By what the limit grows at most in a step, and what is left of it at least. */
const MORE = 0.5
const LESS = 0.5
/** So many are always let in: they make nobody late, and show when it is over. */
const LEAST = 64
const NO_LIMIT = Number.POSITIVE_INFINITY

export const newOverload = (): Overload => {
  const callers = new Map<string, number>()
  let open = 0
  const asked = newAsked()
  /** Who asks for more than an even share, and how many calls each of them may have in hand. */
  let greedy: ReadonlySet<string> = new Set()
  let each = NO_LIMIT
  let most = NO_LIMIT
  let step = newStep()
  let lateForMs = 0
  let calmForMs = 0

  /** Begins with a limit when the process has been late for longer than a burst lasts. */
  const begin = (lateness: number, ms: number): void => {
    lateForMs = lateness > 1 ? lateForMs + ms : 0
    if (lateForMs < BURST_MS) return
    most = Math.max(LEAST, open / lateness)
    asked.begin(callers, most)
  }
  const follow = (lateness: number, { ms, turnedAway }: Step): void => {
    if (lateness > 1) most = Math.max(LEAST, Math.min(most, open) * Math.max(LESS, lateness ** -0.5))
    else if (turnedAway) most *= 1 + MORE * (1 - lateness) ** 2
    calmForMs = lateness > 1 || turnedAway ? 0 : calmForMs + ms
    if (calmForMs < BURST_MS) return
    most = NO_LIMIT
    lateForMs = 0
    calmForMs = 0
  }
  /** Sees who asks for too much; the others have what they ask for, and the greedy share what those leave. */
  const share = (): void => {
    greedy = asked.greedy()
    let theirs = 0
    for (const caller of greedy) theirs += callers.get(caller) ?? 0
    each = Math.max(1, (most - (open - theirs)) / greedy.size)
  }
  const allAway = (): boolean => {
    const away = open >= 2 * most
    step.turnedAway ||= away
    return away
  }
  return {
    note: (elapsedMs, lateness) => {
      step.ms += Math.min(elapsedMs, NOTE_MS_MAX)
      step.notes.push(lateness)
      if (!isOver(step)) return
      if (most === NO_LIMIT) begin(middle(step.notes), step.ms)
      else follow(middle(step.notes), step)
      if (most !== NO_LIMIT) share()
      step = newStep()
    },
    limits: () => most !== NO_LIMIT,
    turnsAllAway: allAway,
    turnsAway: (caller) => {
      if (most === NO_LIMIT) return false
      // Who asks for little is let in though the process is full: one who sends too much is only in their own way.
      const away = allAway() || (greedy.has(caller) && (open >= most || (callers.get(caller) ?? 0) >= each))
      if (away) asked.turnedAway(caller)
      step.turnedAway ||= away
      return away
    },
    enter: (caller) => {
      callers.set(caller, (callers.get(caller) ?? 0) + 1)
      open++
      if (most !== NO_LIMIT) asked.letIn(caller)
    },
    leave: (caller) => {
      const own = (callers.get(caller) ?? 0) - 1
      if (own > 0) callers.set(caller, own)
      else callers.delete(caller)
      open--
    },
    inHand: () => open,
  }
}

/** How many calls each caller has asked for of late, let in or not, and how many were let in. */
const newAsked = () => {
  const counts = new Map<string, number>()
  let entered = 0
  let fresh = false
  const count = (caller: string): void => {
    counts.set(caller, (counts.get(caller) ?? 0) + 1)
    fresh = true
  }
  return {
    /** Begins with what is in hand as asked for, of which `most` should have been let in. */
    begin: (inHand: ReadonlyMap<string, number>, most: number): void => {
      counts.clear()
      for (const [caller, own] of inHand) counts.set(caller, own)
      entered = most
    },
    turnedAway: count,
    letIn: (caller: string): void => {
      count(caller)
      entered++
    },
    /** Those who ask for more than an even share of what is let in; what was before counts half. */
    greedy: (): ReadonlySet<string> => {
      const level = levelOf([...counts.values()], entered)
      const over = new Set([...counts].filter(([, asks]) => asks > level).map(([caller]) => caller))
      if (!fresh) return over
      fresh = false
      for (const [caller, asks] of counts)
        if (asks < 1) counts.delete(caller)
        else counts.set(caller, asks / 2)
      entered /= 2
      return over
    },
  }
}

/** The even share of `all` among those who want so much each, where who wants less has that (max-min fairness). */
const levelOf = (wanted: number[], all: number): number => {
  let left = all
  let sharers = wanted.length
  for (const want of wanted.sort((a, b) => a - b)) {
    if (want * sharers >= left) return left / sharers
    left -= want
    sharers--
  }
  return NO_LIMIT
}

/** What was noted since the limit was last looked at. */
type Step = { ms: number; readonly notes: number[]; turnedAway: boolean }

const newStep = (): Step => ({ ms: 0, notes: [], turnedAway: false })

const isOver = ({ ms, notes }: Step): boolean =>
  ms >= STEP_MS_MAX ? notes.length > 1 : ms >= STEP_MS && notes.length >= NOTES_A_STEP

/** The middle one, of two the lower one: a process has long moments of its own, such as when it collects garbage. */
const middle = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] ?? 0
