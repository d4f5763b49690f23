/** Sends a change once, however often a button is pressed before the page shows that it is being sent. */
import { useRef } from 'react'

/** A change that needs no more than to be sent: a mutation without variables. */
export type Sendable = {
  readonly mutate: (nothing: undefined, then: { readonly onSettled: () => void }) => void
}

/** What a button calls; while the change is under way it does nothing. */
export const useOneAtATime = (change: Sendable): (() => void) => {
  const sending = useRef(false)
  return () => {
    if (sending.current) return
    sending.current = true
    change.mutate(undefined, {
      onSettled: () => {
        sending.current = false
      },
    })
  }
}
