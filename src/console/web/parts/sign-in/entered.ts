/**
 * Where a sign-in leads: back to the page that is open since before the session ended, to the page that was requested before
 * it, else to the overview.
 */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { createContext, useContext } from 'react'
import type { SessionShown } from '../../../schema/session.ts'
import { ask, queries, sessionQuery } from '../api.ts'
import { forgetPlayKey } from '../play/play.ts'

/** The address of a page of the console, after `/console`. */
const isPage = (to: string | undefined): to is string => to !== undefined && /^\/[\w-]/.test(to)

/** The session that has ended while its page was open, which is still there with all that was typed. */
export const Interrupted = createContext<SessionShown | undefined>(undefined)

/** Whose page it is: of whom, and for which organisation. */
export const ownerOf = ({ person, organisation }: SessionShown): string => `${person?.id} ${organisation?.id}`

/** Goes on with the page, if the same person is back; another one finds nothing of it. */
const resume = async (before: SessionShown): Promise<void> => {
  const now = await ask<SessionShown>('GET', '/session')
  if (ownerOf(now) !== ownerOf(before)) return location.assign('/console')
  queries.setQueryData(sessionQuery.queryKey, now)
  await queries.invalidateQueries()
}

export const useEntered = () => {
  const before = useContext(Interrupted)
  const navigate = useNavigate()
  const { to }: { to?: string } = useSearch({ strict: false })
  return async () => {
    if (before !== undefined) return resume(before)
    // Somebody else may have been signed in on this page before.
    queries.clear()
    forgetPlayKey()
    // The way back leads past the sign-in, which is over.
    await navigate({ href: isPage(to) ? `/console${to}` : '/console', replace: true })
  }
}
