/** Attempts to sign in, counted by address and by account on all processes together. */
import { refuse } from '../core/refusal.ts'
import type { Here } from './here.ts'
import { normalEmail } from './new-person.ts'

const WINDOW_MS = 15 * 60_000
const BY_ADDRESS = 100
const BY_ACCOUNT = 10

/**
 * Counts an attempt by address and, where it is of one, by account, on all processes; a right password does not help above
 * the limit.
 */
export const takeAttempt = async (
  { gateway, asked }: Pick<Here, 'gateway' | 'asked'>,
  email?: string,
): Promise<void> => {
  const { members } = gateway.store
  const [byAddress, byAccount] = await Promise.all([
    members.attempt(`address ${gateway.hash(asked.address)}`, WINDOW_MS),
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

export const forgetAttempts = ({ gateway }: Here, email: string): Promise<void> =>
  gateway.store.members.forgetAttempts(`account ${gateway.hash(normalEmail(email))}`)

/** Longer than a code is good for, its neighbours' periods included. */
const CODE_SLOT_MS = 5 * 60_000

/** False for a code that this person has brought before: it may have been seen by somebody else. On all processes. */
export const takeCode = async (
  { gateway }: Pick<Here, 'gateway'>,
  personId: string,
  code: string,
): Promise<boolean> => {
  const slot = Math.trunc(gateway.clock.now() / CODE_SLOT_MS)
  // Each use counts in its slot and the one before, so that one of the last slot is met too.
  const counts = await Promise.all(
    [slot, slot - 1].map((one) =>
      gateway.store.members.brought(`code ${gateway.hash(`${personId} ${code} ${one}`)}`),
    ),
  )
  return counts.every((count) => count === 1)
}
