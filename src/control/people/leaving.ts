/** What ends when somebody leaves an organisation: the keys that they made for it, whose values they know. */
import { isBlocked } from '../../tenancy/key.ts'
import type { Acting } from '../act.ts'

/** Each change waits until every process knows, so as many wait together. */
const PAGE = 50

/** What the keys of somebody who left are disabled together with. */
const leftOf = (personId: string): string => `left ${personId}`

/**
 * Disables the organisation's own keys that the person made, those of the playground too; resolves once no process
 * admits a call of them. Tenants' keys go on: their values are the tenants'.
 */
export const stopKeysOf = async (
  { control: { store, book }, who }: Acting,
  orgId: string,
  personId: string,
): Promise<void> => {
  const query = { orgs: [orgId], which: 'own', madeBy: personId, most: PAGE } as const
  const change = { disabledReason: 'operator', together: leftOf(personId), byCreator: true } as const
  let lines = await store.reports.keys(query)
  while (lines.length > 0) {
    await Promise.all(
      lines.filter(({ key }) => !isBlocked(key)).map(({ key }) => book.changeKey(key.id, change, who.actor)),
    )
    const after = lines.at(-1)?.key.id
    lines = after === undefined ? [] : await store.reports.keys({ ...query, after })
  }
}
