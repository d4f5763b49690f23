/** Where a sign-in leads: to the page that was requested before it, else the overview. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { queries } from './api.ts'
import { forgetPlayKey } from './play.ts'

/** The address of a page of the console, after `/console`. */
const isPage = (to: string | undefined): to is string => to !== undefined && /^\/[\w-]/.test(to)

export const useEntered = () => {
  const navigate = useNavigate()
  const { to }: { to?: string } = useSearch({ strict: false })
  return async () => {
    // Somebody else may have been signed in on this page before.
    queries.clear()
    forgetPlayKey()
    // The way back leads past the sign-in, which is over.
    await navigate({ href: isPage(to) ? `/console${to}` : '/console', replace: true })
  }
}
