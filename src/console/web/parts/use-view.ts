/** The view of a page is the query of its address: what it shows, and how to change that. */
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** A dialog was opened in this step of the browser's history, so the step before is the page without it. */
    opened?: boolean
  }
}

export type Query = Readonly<Record<string, string | undefined>>

/** Members that open a dialog or a side, and those that turn to another page of a list. */
const OPEN = ['new', 'open', 'payer', 'bill', 'call']
const TURN = ['after', 'before']

/**
 * The view in the address, and a function that changes part of it; an empty text or undefined removes a member. What opens and
 * what turns is a step of the browser's history, so that Back undoes it; filters and the rest are none.
 */
export const useView = (
  to:
    | '/calls'
    | '/latency'
    | '/batches'
    | '/keys'
    | '/tenants'
    | '/bills'
    | '/operator'
    | '/payers'
    | '/usage',
) => {
  const query: Query = useSearch({ strict: false })
  const navigate = useNavigate()
  const { history } = useRouter()
  const left = useRef<string>(undefined)
  const isSet = (value: string | undefined) => (value ?? '') !== ''
  const show = (change: Query) => {
    const opened = Object.keys(change).filter((name) => OPEN.includes(name))
    const opens = opened.some((name) => isSet(change[name]) && !isSet(query[name]))
    const turns = TURN.some((name) => isSet(change[name]))
    const closes = opened.length === Object.keys(change).length && !opened.some((name) => isSet(change[name]))
    const { opened: isStep, __TSR_key: step } = history.location.state
    // Only once: closed twice at a time, a dialog would take the page with it.
    if (closes && isStep === true && left.current !== step) {
      left.current = step
      return history.back()
    }
    void navigate({
      to,
      search: Object.fromEntries(Object.entries({ ...query, ...change }).filter(([, value]) => isSet(value))),
      replace: !opens && !turns,
      state: opens ? { opened: true } : turns ? {} : true,
    })
  }
  return { query, show }
}
