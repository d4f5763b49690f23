/** Forgetting a customer: the keys end, and what is known of the organisation is removed; the books stay, by ids. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { OPERATOR_ORG } from '../../store/people/machine-port.ts'
import { act } from '../act.ts'
import { payer, walletNamed } from '../org-of.ts'

/** Rows of each kind that are gone, or say less. */
export const removed = z.record(z.string(), z.int()).describe('Rows of each kind that are gone, or say less')

export const organisationForget = act({
  name: 'organisation.forget',
  summary:
    'Deletes the keys of a customer and removes all that is known of it, for good; the books stay, by ids.',
  changes: ['people'],
  input: payer,
  afterMove: true,
  shows: namedObject('OrganisationForgotten', { id: z.string(), removed }),
  does: async (acting, of) => {
    const { control, who } = acting
    must(who.lacks(['accounts']))
    const { id: wallet, orgId: id } = await walletNamed(acting, of)
    if (id === OPERATOR_ORG) throw refuse('forbidden', 'The wallet of the operator cannot be forgotten.')
    const { forget } = control.store
    for (const key of await forget.keysToEnd(wallet)) await control.book.deleteKey(key, true, who.actor)
    const gone = await forget.forgetCustomer(wallet, who.actor)
    if (gone === 'unknown') throw refuse('not_found', 'There is no such wallet, or it is not yours.')
    if (gone === 'keys_live') throw refuse('forbidden', 'A key was made meanwhile; do this again.')
    return { id, removed: { ...gone } }
  },
})
