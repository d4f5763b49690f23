/** Counts attempts to sign in, by address and by account, over all processes together. */
import { refuse } from '../../core/refusal.ts'
import type { Control } from '../act.ts'
import { normalEmail } from './new-person.ts'

const WINDOW_MS = 15 * 60_000
const BY_ADDRESS = 100
const BY_ACCOUNT = 10

type Attempting = {
  readonly gateway: Pick<Control, 'store' | 'hash' | 'clock'>
  /** The network address that it comes from. */
  readonly request: { readonly address: string }
}

/**
 * Counts an attempt by address and, if it names one, by account, over all processes; above the limit even a right
 * password does not help.
 */
export const takeAttempt = async ({ gateway, request }: Attempting, email?: string): Promise<void> => {
  const { members } = gateway.store
  const [byAddress, byAccount] = await Promise.all([
    members.attempt(`address ${gateway.hash(request.address)}`, WINDOW_MS),
    email === undefined ? 0 : members.attempt(`account ${gateway.hash(normalEmail(email))}`, WINDOW_MS),
  ])
  if (byAddress > BY_ADDRESS || byAccount > BY_ACCOUNT) {
    const seconds = WINDOW_MS / 1_000
    throw refuse('rate_limit_exceeded', 'Too many attempts to sign in; wait a quarter of an hour.', {
      headers: { 'retry-after': String(seconds) },
      members: { retry_after: seconds },
    })
  }
}

export const forgetAttempts = ({ gateway }: Pick<Attempting, 'gateway'>, email: string): Promise<void> =>
  gateway.store.members.forgetAttempts(`account ${gateway.hash(normalEmail(email))}`)

/** Longer than a code is valid, including the periods before and after it. */
const CODE_SLOT_MS = 5 * 60_000

/** False for a code that this person has used before, on any process: somebody else may have seen it. */
export const takeCode = async (
  { gateway }: Pick<Attempting, 'gateway'>,
  personId: string,
  code: string,
): Promise<boolean> => {
  const slot = Math.trunc(gateway.clock.now() / CODE_SLOT_MS)
  // Each use counts in its slot and the one before, so that a use in the last slot is found too: the older one first and
  // the newer only for who had that. In any other order two at the same moment could each turn the other away.
  for (const one of [slot - 1, slot])
    if ((await gateway.store.members.brought(`code ${gateway.hash(`${personId} ${code} ${one}`)}`)) !== 1)
      return false
  return true
}
