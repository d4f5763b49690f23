/** The session as the page first reads it: who, where, with which rights; also for somebody who is not signed in. */
import { nameOfOrganisation } from '../../control/tenants/statements.ts'
import type { Here, Reply } from '../here.ts'

const hasPassword = async ({ gateway }: Here, personId: string): Promise<boolean> =>
  (await gateway.store.people.count('person_account', [
    { column: 'user_id', is: '=', value: personId },
    { column: 'provider_id', is: '=', value: 'credential' },
  ])) > 0

export const shownSession = async (here: Here): Promise<Reply> => {
  const { session, settings, gateway } = here
  const about = {
    sign_up: settings.signUp,
    mail: settings.smtp !== undefined,
    company: settings.oidcIssuer === undefined ? null : settings.oidcName,
  }
  if (session === undefined)
    return { value: { ...about, person: null, organisations: [], organisation: null, acts: [] } }
  const { personId, email, name, operator, totp, orgId, role, actsFor, acts } = session
  const members = await gateway.store.members.list({ personId })
  const organisations = await Promise.all(
    members.map(async (member) => ({
      id: member.orgId,
      name: await nameOfOrganisation(gateway, member.orgId),
      role: member.role,
    })),
  )
  return {
    value: {
      ...about,
      person: { id: personId, email, name, operator, totp, has_password: await hasPassword(here, personId) },
      organisations,
      organisation:
        orgId === undefined || role === undefined
          ? null
          : { id: orgId, name: await nameOfOrganisation(gateway, orgId), role, acts_for: actsFor },
      acts,
    },
  }
}
