/** The session as the page first reads it: who, where, with which rights; also for somebody who is not signed in. */
import type { Here, Reply } from './here.ts'

/** An organisation has the name of its first wallet. */
export const nameOfOrganisation = async (
  { gateway }: Pick<Here, 'gateway'>,
  orgId: string,
): Promise<string> => {
  const [wallet] = await gateway.store.reports.walletsOf(orgId)
  return (wallet === undefined ? undefined : await gateway.store.wallets.wallet(wallet))?.name ?? orgId
}

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
      name: await nameOfOrganisation(here, member.orgId),
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
          : { id: orgId, name: await nameOfOrganisation(here, orgId), role, acts_for: actsFor },
      acts,
    },
  }
}
