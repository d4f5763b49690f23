/** Where a sign-in leads: to the page that was requested before it, else the overview. */
import { useSearch } from '@tanstack/react-router'

/** The address of a page of the console, after `/console`. */
const isPage = (to: string | undefined): to is string => to !== undefined && /^\/[\w-]/.test(to)

export const useEntered = () => {
  const { to }: { to?: string } = useSearch({ strict: false })
  // Loaded anew: nothing may be left of whoever was signed in here before, such as the key of the playground. The way
  // back leads past the sign-in, which is over.
  return () => location.replace(isPage(to) ? `/console${to}` : '/console')
}
