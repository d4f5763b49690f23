/** Looks at each gateway again and again, so that calls go to those that take them. */
import type { Directory } from '../../cells/directory.ts'
import type { Place, Places } from '../../cells/places.ts'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'

const EVERY_MS = 500
/** A gateway that takes longer to say whether it is ready takes no calls. */
const PATIENCE_MS = 1_000
/** Until the next look that finds it has ended. */
const REST_MS = 2 * (EVERY_MS + PATIENCE_MS)

type Looking = {
  readonly directory: { readonly now: () => Directory }
  readonly places: Places
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Looks until the returned function is called. */
export const keepLooking = ({ directory, places, clock, log }: Looking): (() => void) => {
  let stopped = false
  const gone = new Set<string>()
  const look = async (place: Place, cell: string): Promise<void> => {
    const status = await fetch(`${place.url}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      async (answer) => {
        await answer.bytes()
        return answer.status
      },
      () => undefined,
    )
    place.late = status !== 200
    if (status === undefined) places.rest(place, REST_MS)
    else place.restsUntilMs = 0
    const fields = { kind: cell, stage: place.url }
    if (status !== undefined) {
      if (gone.delete(place.url)) log.info('a gateway answers again', fields)
    } else if (!gone.has(place.url)) {
      gone.add(place.url)
      log.warn('a gateway does not answer: it gets no calls', fields)
    }
  }
  const run = async (): Promise<void> => {
    while (!stopped) {
      const all = [...directory.now().cells.values()].flatMap(({ name, addresses }) =>
        addresses.map((address) => look(places.at(address), name)),
      )
      await Promise.all([...all, clock.sleep(EVERY_MS)])
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
