/**
 * Sends the requests of several calls together. The runtime sends requests from a thread of its own, and waking it
 * costs both threads more than sending a request. All requests of one turn of the event loop wake it once.
 */
import type { VendorFetch } from '../vendors/setup.ts'

/**
 * This many are sent without waiting for the end of the turn: more would save little, and the first would wait for the
 * last.
 */
const MOST = 16
/**
 * A larger body is sent at once, together with what waits: copied later, it would come from memory and not from a
 * cache.
 */
const LARGE_BYTES = 32 * 1024

const isLarge = ({ body }: RequestInit): boolean => body instanceof Uint8Array && body.length > LARGE_BYTES

/** Somebody who is told when their request is sent. */
type Sender = { onSend(): void }

type Waiting = {
  readonly url: string
  readonly init: RequestInit
  readonly asker: Sender | undefined
  readonly ends: PromiseWithResolvers<Response>
}

/**
 * Sends a request once everything that is ready has been handled; an idle process gets there in microseconds. Then it
 * tells the asker.
 */
export const together = (send: VendorFetch) => {
  let waiting: Waiting[] = []
  const sendAll = (): void => {
    const all = waiting
    waiting = []
    for (const { url, init, asker, ends } of all)
      try {
        asker?.onSend()
        send(url, init).then(ends.resolve, ends.reject)
      } catch (fault) {
        ends.reject(fault)
      }
  }
  return (url: string, init: RequestInit, asker?: Sender): Promise<Response> => {
    const ends = Promise.withResolvers<Response>()
    waiting.push({ url, init, asker, ends })
    if (waiting.length === MOST || isLarge(init)) sendAll()
    else if (waiting.length === 1) setImmediate(sendAll)
    return ends.promise
  }
}
