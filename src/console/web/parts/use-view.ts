/** The view of a page is the query of its address: what it shows, and how to change that. */
import { useNavigate, useSearch } from '@tanstack/react-router'

export type Query = Readonly<Record<string, string | undefined>>

/** The view in the address, and a function that changes part of it; an empty text or undefined removes a member. */
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
  const show = (change: Query) =>
    void navigate({
      to,
      search: Object.fromEntries(
        Object.entries({ ...query, ...change }).filter(([, value]) => (value ?? '') !== ''),
      ),
      replace: true,
    })
  return { query, show }
}
