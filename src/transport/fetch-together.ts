/**
 * Requests to vendors, those of several calls at once: the runtime sends them from a thread of its own, and to wake that
 * costs both threads more than to send a request. What the calls of one turn of the event loop ask wakes it once.
 */
import type { VendorFetch } from '../vendors/setup.ts'

/** So many go without waiting for the end of the turn: more would save little, and the first would wait for the last. */
const MOST = 16
/** A larger body goes at once, and takes along what waits: copied later, it would be read from memory and not from a cache. */
const LARGE_BYTES = 32 * 1024

const isLarge = ({ body }: RequestInit): boolean => body instanceof Uint8Array && body.length > LARGE_BYTES

/** Who is told when their request is sent. */
type Sender = { onSend(): void }

type Waiting = {
  readonly url: string
  readonly init: RequestInit
  readonly asker: Sender | undefined
  readonly ends: PromiseWithResolvers<Response>
}

/**
 * Sends a request when what is ready now has been handled; an idle process gets there in microseconds. The
 * asker is told at that moment.
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
