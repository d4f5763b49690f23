/** The view of a page is the query of its address: what it shows, and how to change that. */
import { useNavigate, useSearch } from '@tanstack/react-router'

export type Asked = Readonly<Record<string, string | undefined>>

/** The view in the address, and a function that changes part of it; an empty text or undefined removes a member. */
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
