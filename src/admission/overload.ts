/**
 * Overload: limits how many calls a process runs at once. A process that is not late has no limit. If it has been late
 * for a while, the limit becomes what it can do in time. Calls beyond it are turned away before any work is done for
 * them; a call that was let in is never given up. The limit follows the lateness that it causes, so nobody has to know
 * what a call costs: a call that waits for its vendor costs nothing, an open stream as much as its pieces.
 */

export type Overload = {
  /**
   * Notes how late the process was over the last `elapsedMs`, as a multiple of what is allowed: 1 is too late. Call it
   * many times a second while calls arrive.
   */
  note(elapsedMs: number, lateness: number): void
  /** Whether any call may be turned away now. */
  limits(): boolean
  /** Whether a call is turned away now, whoever sends it. */
  turnsAllAway(): boolean
  /** Whether a call of this caller is turned away now. */
  turnsAway(caller: string): boolean
  /** Notes that a call was let in, and that it has ended. */
  enter(caller: string): void
  leave(caller: string): void
  /** How many calls are running, and how many were ever let in. */
  readonly inHand: () => number
  readonly entered: () => number
}

/** Shorter lateness is a burst, not an overload. */
const BURST_MS = 1_000
/** The limit changes at most this often, because a change shows in the lateness only after some turns. */
const STEP_MS = 50
const NOTES_A_STEP = 5
/** The longest step: if turns are long, two of them are enough. */
const STEP_MS_MAX = 400
/** A pause of the process, however long, counts as one late moment of at most this length. */
const NOTE_MS_MAX = 250
/** The largest growth of the limit in one step, and the smallest share that a step leaves of it. */
const MORE = 0.5
const LESS = 0.5
/** This many are always let in: they make nobody late, and show when the overload is over. */
const LEAST = 64
const NO_LIMIT = Number.POSITIVE_INFINITY

export const newOverload = (): Overload => {
  const callers = new Map<string, number>()
  let open = 0
  let entered = 0
  const demand = newDemand()
  /** The callers who ask for more than an even share, and how many running calls each of them may have. */
  let greedy: ReadonlySet<string> = new Set()
  let each = NO_LIMIT
  let most = NO_LIMIT
  let step = newStep()
  let lateForMs = 0
  let calmForMs = 0

  /** Sets a limit once the process has been late for longer than a burst. */
  const begin = (lateness: number, ms: number): void => {
    lateForMs = lateness > 1 ? lateForMs + ms : 0
    if (lateForMs < BURST_MS) return
    most = Math.max(LEAST, open / lateness)
    demand.begin(callers, most)
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
  /** Finds those who ask for too much. The others get what they ask for; the greedy share the rest. */
  const share = (): void => {
    greedy = demand.greedy()
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
      // Callers who ask for little are let in even if the process is full; one who sends too much only harms itself.
      const away = allAway() || (greedy.has(caller) && (open >= most || (callers.get(caller) ?? 0) >= each))
      if (away) demand.turnedAway(caller)
      step.turnedAway ||= away
      return away
    },
    enter: (caller) => {
      callers.set(caller, (callers.get(caller) ?? 0) + 1)
      open++
      entered++
      if (most !== NO_LIMIT) demand.letIn(caller)
    },
    leave: (caller) => {
      const own = (callers.get(caller) ?? 0) - 1
      if (own > 0) callers.set(caller, own)
      else callers.delete(caller)
      open--
    },
    inHand: () => open,
    entered: () => entered,
  }
}

/** How many calls each caller asked for lately, let in or not, and how many were let in. */
const newDemand = () => {
  const counts = new Map<string, number>()
  let entered = 0
  let fresh = false
  const count = (caller: string): void => {
    counts.set(caller, (counts.get(caller) ?? 0) + 1)
    fresh = true
  }
  return {
    /** Starts with the running calls as asked for; `most` of them should have been let in. */
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
    /** The callers who ask for more than an even share of what is let in; earlier requests count half. */
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

/** The even share of `all` among callers who want these amounts; one who wants less gets that (max-min fairness). */
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

/** The notes since the limit was last adjusted. */
type Step = { ms: number; readonly notes: number[]; turnedAway: boolean }

const newStep = (): Step => ({ ms: 0, notes: [], turnedAway: false })

const isOver = ({ ms, notes }: Step): boolean =>
  ms >= STEP_MS_MAX ? notes.length > 1 : ms >= STEP_MS && notes.length >= NOTES_A_STEP

/** The median, of an even number the lower one: a process has long moments of its own, such as garbage collection. */
const middle = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] ?? 0
