/** What ends when somebody leaves an organisation: the keys that they made for it, whose values they know. */
import { isBlocked } from '../../tenancy/key.ts'
import type { Acting } from '../act.ts'
import { AGENTS } from '../key-named.ts'

/** Each change waits until every process knows, so as many wait together. */
const PAGE = 50

/** What the keys of somebody who left are disabled together with. */
const leftOf = (personId: string): string => `left ${personId}`

/**
 * Disables the organisation's own keys that the person made, those of the playground too, or only those of a team; resolves
 * once no process admits a call of them. Tenants' keys go on: their values are the tenants'.
 */
export const stopKeysOf = async (
  { control: { store, book }, who }: Acting,
  orgId: string,
  personId: string,
  team?: string,
): Promise<void> => {
  const ofTeam = team === undefined ? {} : { team }
  const query = { orgs: [orgId], which: 'own', madeBy: personId, ...ofTeam, most: PAGE } as const
  const change = { disabledReason: 'operator', together: leftOf(personId), byCreator: true } as const
  let lines = await store.reports.keys(query)
  while (lines.length > 0) {
    await Promise.all(
      lines
        .filter(({ key }) => !isBlocked(key) && !(team !== undefined && key.id.startsWith(AGENTS)))
        .map(({ key }) => book.changeKey(key.id, change, who.actor)),
    )
    const after = lines.at(-1)?.key.id
    lines = after === undefined ? [] : await store.reports.keys({ ...query, after })
  }
}
