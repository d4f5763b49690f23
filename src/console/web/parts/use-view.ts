/** The view of a page is the query of its address: what it shows, and how that is changed. */
import { useNavigate, useSearch } from '@tanstack/react-router'

export type Asked = Readonly<Record<string, string | undefined>>

/** What the address asks for, and a function that changes some of it; an empty text or undefined takes a member away. */
export const useView = (to: '/keys' | '/tenants' | '/operator' | '/usage') => {
  const asked: Asked = useSearch({ strict: false })
  const navigate = useNavigate()
  const show = (change: Asked) =>
    void navigate({
      to,
      search: Object.fromEntries(
        Object.entries({ ...asked, ...change }).filter(([, value]) => (value ?? '') !== ''),
      ),
      replace: true,
    })
  return { asked, show }
}
