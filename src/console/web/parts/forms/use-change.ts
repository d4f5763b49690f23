/** A change that the page sends: what the page shows is asked for again once the server has made it. */
import { useMutation } from '@tanstack/react-query'
import { queries } from '../api.ts'

type Then<Made> = {
  /** At once: what is shown only once must not wait for what else the page shows. */
  readonly told?: ((made: Made) => unknown) | undefined
  /** Once the page shows how things are now. */
  readonly after?: ((made: Made) => unknown) | undefined
}

/** A mutation of what `send` does. */
export const useChange = <Made, Input = void>(
  send: (input: Input) => Promise<Made>,
  { told, after }: Then<Made> = {},
) =>
  useMutation({
    mutationFn: send,
    onSuccess: async (made) => {
      told?.(made)
      await queries.invalidateQueries()
      await after?.(made)
    },
  })
