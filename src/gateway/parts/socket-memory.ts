/**
 * What a socket remembers of its conversations: the latest response of each lane, so that the next turn sends only what is
 * new. It is gone with the socket, and nothing of it is stored.
 */
import { type Capacity, giveBackBytes, newTaken, takeBytes } from './capacity.ts'

/** A conversation up to the end of a response. */
type Conversation = {
  /** The items as JSON, with commas between them: so they take little memory, and the next request is joined from them. */
  readonly items: Uint8Array
  /** Whether all of it is kept by RESPONSES_STORE too. */
  readonly stored: boolean
}

export type SocketMemory = {
  find(responseId: string): Conversation | undefined
  /** Remembers it in place of the lane's former response; forgets that one alone where there is no room. */
  note(lane: string, responseId: string, conversation: Conversation): void
  /** Gives back all memory, for good. */
  clear(): void
}

/** The memory of the socket on which a request came, and the lane of the request. */
export type OnSocket = { readonly memory: SocketMemory; readonly lane: string }

/** Lanes of which a socket remembers a response; the one that was quiet for longest is forgotten first. */
const LANES_MAX = 32

export const newSocketMemory = (capacity: Capacity, keyId: string): SocketMemory => {
  const taken = newTaken(keyId)
  const latest = new Map<string, Conversation & { readonly responseId: string }>()
  let closed = false
  const forget = (lane: string | undefined): void => {
    const known = lane === undefined ? undefined : latest.get(lane)
    if (lane === undefined || known === undefined) return
    latest.delete(lane)
    giveBackBytes(capacity, taken, known.items.length)
  }
  return {
    find: (responseId) => latest.values().find((one) => one.responseId === responseId),
    note: (lane, responseId, conversation) => {
      // Its last answer may be charged after its client has gone.
      if (closed) return
      forget(lane)
      if (latest.size >= LANES_MAX) forget(latest.keys().next().value)
      try {
        takeBytes(capacity, taken, conversation.items.length)
      } catch {
        // Its client is told that the response is unknown, and sends the conversation again.
        return
      }
      latest.set(lane, { ...conversation, responseId })
    },
    clear: () => {
      closed = true
      for (const lane of [...latest.keys()]) forget(lane)
    },
  }
}
