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

/** Sends a request when what is ready now has been handled; an idle process gets there in microseconds. */
export const together = (send: VendorFetch): VendorFetch => {
  let waiting: (() => void)[] = []
  const sendAll = (): void => {
    const all = waiting
    waiting = []
    for (const one of all) one()
  }
  return (url, init) =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(send(url, init))
        } catch (fault) {
          reject(fault)
        }
      })
      if (waiting.length === MOST || isLarge(init)) sendAll()
      else if (waiting.length === 1) setImmediate(sendAll)
    })
}
