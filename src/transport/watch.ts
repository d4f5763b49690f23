/** One timer for everything that may be late: a timer, a race and a promise for each call would cost more than a look. */

/** Something that is looked at. The list is an array whose gaps are filled from its end: a Set that changes as often costs far more. */
type Watched = {
  /** Called with the monotonic time in milliseconds, 20 times a second. */
  readonly look: (nowMs: number) => void
  at: number
}

const LOOK_EVERY_MS = 50
const NOWHERE = -1

const all: Watched[] = []
let timer: Timer | undefined

const lookAtAll = (): void => {
  if (all.length === 0) {
    clearInterval(timer)
    timer = undefined
    return
  }
  const nowMs = performance.now()
  // From the end, since a look may remove itself.
  for (let at = all.length - 1; at >= 0; at--) all[at]?.look(nowMs)
}

/** Calls `look` every 50 ms until what this returns is given to `unwatch`. */
export const watch = (look: Watched['look']): Watched => {
  const one = { look, at: all.length }
  all.push(one)
  timer ??= setInterval(lookAtAll, LOOK_EVERY_MS)
  return one
}

/** Harmless when it is no longer watched. */
export const unwatch = (one: Watched): void => {
  if (one.at === NOWHERE) return
  const last = all.pop()
  if (last !== undefined && last !== one) {
    all[one.at] = last
    last.at = one.at
  }
  one.at = NOWHERE
}

/** The result of `work`, or the error `late()` once `ms` have passed, up to 50 ms later. */
export const withinTime = <T>(work: Promise<T>, ms: number, late: () => unknown): Promise<T> =>
  new Promise((resolve, reject) => {
    const dueMs = performance.now() + ms
    const watched = watch((nowMs) => {
      if (nowMs < dueMs) return
      unwatch(watched)
      reject(late())
    })
    work.then(
      (value) => {
        unwatch(watched)
        resolve(value)
      },
      (error: unknown) => {
        unwatch(watched)
        reject(error)
      },
    )
  })
