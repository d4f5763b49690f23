/** The key of all agents of a person in an organisation: made when the first one signs in, and bound to the person's team. */
import { createHash } from 'node:crypto'
import { refuse } from '../../core/refusal.ts'
import { isBlocked, type Key } from '../../tenancy/key.ts'
import type { Acting } from '../act.ts'
import { AGENTS } from '../key-named.ts'
import { makeKey } from '../make-key.ts'

type Person = { readonly orgId: string; readonly personId: string }

/** Ids that two approvals at once draw alike, so that all agents of a person in an organisation have one key. */
const idOf = ({ orgId, personId }: Person, nth: number): string =>
  `${AGENTS}${createHash('sha256').update(`${orgId} ${personId} ${nth}`).digest('hex').slice(0, 32)}`

/** Their key, or the id that it is to have. One that somebody deleted is followed by another. */
const find = async ({ control: { store } }: Acting, person: Person): Promise<Key | string> => {
  for (let nth = 0; ; nth++) {
    const id = idOf(person, nth)
    const key = await store.keys.key(id)
    if (key?.deleted !== true) return key ?? id
  }
}

/** The key whose limits all agents of the person share. Nobody has its value. */
export const agentsKey = async (acting: Acting, person: Person): Promise<Key> => {
  const { control, who } = acting
  const found = await find(acting, person)
  if (typeof found === 'string') {
    const [team] = await control.store.teams.teamsOf(person)
    const bound = team === undefined ? {} : { sub: team.id, wallet: team.walletId }
    const wanted = { id: found, label: `Agents of ${who.actor.name}`, limits: {}, ...bound }
    return (await makeKey(acting, wanted)).key
  }
  if (isBlocked(found))
    throw refuse('forbidden', `Your agents were stopped: an admin can enable their key, ${found.id}.`)
  return found
}

/**
 * Binds the key to a team that the person is in, or releases it from the one that they left; resolves once that is known on
 * every process. What an admin bound it to otherwise stays, while the person is in no team.
 */
export const bindAgents = async (acting: Acting, person: Person, left?: string): Promise<void> => {
  const { control, who } = acting
  const key = await find(acting, person)
  if (typeof key === 'string') return
  const teams = (await control.store.teams.teamsOf(person)).filter(
    ({ walletId }) => walletId === key.walletId,
  )
  const isThere = teams.some(({ id }) => id === key.subWallet)
  if (isThere || (teams.length === 0 && (left === undefined || key.subWallet !== left))) return
  await control.book.changeKey(key.id, { subWallet: teams[0]?.id ?? null, byCreator: true }, who.actor)
}
