/** Whether somebody binds a key to a team of theirs: who may change all keys of the organisation binds them as they want. */
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Acting } from './act.ts'
import { onlyOrg } from './org-of.ts'
import { may } from './who.ts'

const noSuch = (): Refusal =>
  refuse('not_found', 'There is no such team or sub-wallet, or you are not in that team.', {
    members: { param: 'sub_wallet' },
  })

/** Why somebody may not bind a key so, or release it (null); undefined when they may. */
export const checkTeam = async (acting: Acting, sub: string | null): Promise<Refusal | undefined> => {
  const { who, control } = acting
  if (who.teams === undefined || may(who, 'keys') || who.teams.some(({ id }) => id === sub)) return undefined
  if (who.teams.length > 0)
    return sub === null
      ? refuse('forbidden', 'Your keys are those of your teams; an admin of the organisation releases one.', {
          members: { param: 'sub_wallet' },
        })
      : noSuch()
  const orgId = onlyOrg(acting)
  if (sub === null || orgId === undefined) return undefined
  return (await control.store.teams.teams({ orgId, id: sub })).length > 0 ? noSuch() : undefined
}
