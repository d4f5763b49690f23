/** The key that an act names, if who acts reaches it. What is not theirs looks like what does not exist. */
import { must, type Refusal, refuse } from '../core/refusal.ts'
import { keyByToken } from '../gateway/enter/key-by-token.ts'
import type { KeyLine, KeyLineQuery } from '../store/reports/report-port.ts'
import type { Acting } from './act.ts'
import { leads, may, orgsOf, reaches } from './who.ts'

/** What the ids begin with of keys that people's agents sign in to: their limits are the person's, set by others. */
export const AGENTS = 'key_agents_'

export const noSuchKey = ({ who: { reach } }: Acting): Refusal =>
  reach.of === 'key'
    ? refuse(
        'not_found',
        "There is no such key, or it is neither the calling key nor one below it; use 'me' for the calling key.",
      )
    : refuse('not_found', 'There is no such key, or it is not yours.')

/** Whose keys may be seen (`read`) or changed (`keys`). `orgId` narrows what somebody with the whole house sees. */
export const keyScope = (
  { who }: Acting,
  right: 'read' | 'keys',
  orgId?: string,
): Pick<KeyLineQuery, 'orgs' | 'madeBy' | 'leads' | 'below'> => {
  const { reach, actor } = who
  if (reach.of === 'key') return { orgs: 'all', below: reach.key.id }
  const led = (who.teams ?? []).filter(({ id }) => leads(who, id)).map(({ id }) => id)
  const own = may(who, right) ? {} : { madeBy: actor.id, leads: led }
  if (reach.of === 'organisation' || orgId === undefined) return { orgs: orgsOf(who), ...own }
  return { orgs: reaches(who, orgId) ? [orgId] : [], ...own }
}

/** The id that the name stands for; a key also knows `me`, and keys by their value. */
const idOf = async ({ control, who: { reach } }: Acting, name: string): Promise<string | undefined> => {
  if (reach.of !== 'key') return name
  const key =
    name === 'me'
      ? reach.key
      : name.startsWith('sk-')
        ? await keyByToken(control, name)
        : await control.store.keys.key(name)
  return key !== undefined && (key.id === reach.key.id || key.above.includes(reach.key.id))
    ? key.id
    : undefined
}

/** The key with its counters, deleted or not. Throws the 404. */
export const keyNamed = async (acting: Acting, name: string, right: 'read' | 'keys'): Promise<KeyLine> => {
  const id = await idOf(acting, name)
  const { below: _checked, ...scope } = keyScope(acting, right)
  const [line] =
    id === undefined ? [] : await acting.control.store.reports.keys({ ...scope, which: 'all', id, most: 1 })
  return must(line ?? noSuchKey(acting))
}

/** The same, of keys that may be changed: those that were not deleted. */
export const usable = async (acting: Acting, name: string): Promise<KeyLine> => {
  const line = await keyNamed(acting, name, 'keys')
  if (line.key.deleted) throw noSuchKey(acting)
  const { who } = acting
  const governs = who.reach.of === 'key' || may(who, 'keys') || leads(who, line.key.subWallet)
  if (line.key.id.startsWith(AGENTS) && !governs)
    throw refuse('forbidden', 'Your agents sign in to this key; only an admin changes it.')
  return line
}
