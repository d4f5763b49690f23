/** Whether the person may do something here; the server checks again. */
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from './api.ts'

export const useMay = (...acts: readonly string[]): boolean => {
  const { data } = useQuery(sessionQuery)
  return acts.some((act) => data?.acts.includes(act) === true)
}
