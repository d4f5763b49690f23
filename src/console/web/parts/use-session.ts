/**
 * What a person does with their session: looks at another organisation, or signs out. Either is the same when it is
 * sent twice, so a server that is away for a moment is asked again; what then still fails is for the caller to show.
 */
import { useMutation } from '@tanstack/react-query'
import { ask, isAway, queries } from './api.ts'

const TRIES = 5
const comingBack = {
  retry: (count: number, error: unknown) => count < TRIES && isAway(error),
  retryDelay: 1_000,
}

/** Looks at an organisation, from its first page. */
export const useChoose = () =>
  useMutation({
    ...comingBack,
    mutationFn: (id: string) => ask('PUT', '/session/organisation', { org_id: id }),
    onSuccess: () => {
      queries.clear()
      location.assign('/console')
    },
  })

export const useSignOut = () =>
  useMutation({
    ...comingBack,
    mutationFn: () => ask('DELETE', '/session'),
    onSuccess: () => location.assign('/console/sign-in'),
  })
