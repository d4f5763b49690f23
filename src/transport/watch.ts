/**
 * One timer for everything that may be late: a timer, a race and a promise for each call would cost more than a
 * periodic look.
 */

/**
 * Something to look at. The list is an array whose gaps are filled from its end; a Set with as many changes costs far
 * more.
 */
export type Watched = {
  /** Called with the monotonic time in milliseconds, 20 times a second. */
  look(nowMs: number): void
  /** Its place in the list; only this file changes it. */
  at: number
}

const LOOK_EVERY_MS = 50
/** The place of something that is not watched. */
export const NOWHERE = -1

const all: Watched[] = []
let timer: Timer | undefined

const lookAtAll = (): void => {
  if (all.length === 0) {
    clearInterval(timer)
    timer = undefined
    return
  }
  const nowMs = performance.now()
  // From the end, because a look may remove its entry.
  for (let at = all.length - 1; at >= 0; at--) all[at]?.look(nowMs)
}

/** Looks at it every 50 ms until it is passed to `unwatch`. */
export const watch = (one: Watched): void => {
  one.at = all.length
  all.push(one)
  timer ??= setInterval(lookAtAll, LOOK_EVERY_MS)
}

/** Harmless if it is no longer watched. */
export const unwatch = (one: Watched): void => {
  if (one.at === NOWHERE) return
  const last = all.pop()
  if (last !== undefined && last !== one) {
    all[one.at] = last
    last.at = one.at
  }
  one.at = NOWHERE
}

/** A promise that is abandoned when it is late. */
class Timed<T> implements Watched {
  at = NOWHERE
  readonly #dueMs: number
  readonly #reject: (error: unknown) => void
  readonly #late: () => unknown

  constructor(work: Promise<T>, ms: number, late: () => unknown, ends: PromiseWithResolvers<T>) {
    this.#dueMs = performance.now() + ms
    this.#reject = ends.reject
    this.#late = late
    watch(this)
    work.then(
      (value) => {
        unwatch(this)
        ends.resolve(value)
      },
      (error: unknown) => {
        unwatch(this)
        ends.reject(error)
      },
    )
  }

  look(nowMs: number): void {
    if (nowMs < this.#dueMs) return
    unwatch(this)
    this.#reject(this.#late())
  }
}

/** The result of `work`, or the error `late()` once `ms` have passed, up to 50 ms later. */
export const withinTime = <T>(work: Promise<T>, ms: number, late: () => unknown): Promise<T> => {
  const ends = Promise.withResolvers<T>()
  new Timed(work, ms, late, ends)
  return ends.promise
}
