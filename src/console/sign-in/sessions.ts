/** A person's sessions: listed, ended, and pointed at an organisation. */
import { isoOf } from '../../control/read.ts'
import { refuse } from '../../core/refusal.ts'
import { type ConsoleRoute, type Here, personOf, type Reply } from '../here.ts'
import { bodied, route } from '../row.ts'
import { chooseOrgBody, sessions } from '../schema/session.ts'

const listSessions = async (here: Here): Promise<Reply> => {
  const { personId, token } = personOf(here)
  const rows = await here.gateway.store.people.find('person_session', {
    where: [{ column: 'user_id', is: '=', value: personId }],
    by: { column: 'created_at', down: true },
    most: 100,
  })
  return {
    value: {
      data: rows.map((row) => ({
        id: String(row.id),
        current: row.token === token,
        address: String(row.ip_address ?? ''),
        agent: String(row.user_agent ?? ''),
        since: isoOf(Date.parse(String(row.created_at))),
      })),
    },
  }
}

const endOthers = async (here: Here): Promise<Reply> => {
  const { personId, token } = personOf(here)
  await here.gateway.store.people.remove('person_session', [
    { column: 'user_id', is: '=', value: personId },
    { column: 'token', is: '<>', value: token },
  ])
  return { value: { done: true } }
}

const chooseOrg = async (here: Here, { org_id: orgId }: { org_id: string }): Promise<Reply> => {
  const { personId, operator, token, email } = personOf(here)
  const { store } = here.gateway
  const members = await store.members.list({ personId })
  const own = members.some((member) => member.orgId === orgId)
  if (!own && !(operator && (await store.reports.walletsOf(orgId)).length > 0))
    throw refuse('not_found', 'There is no such organisation, or you do not belong to it.')
  await store.members.chooseOrg(token, orgId)
  if (!own)
    await store.events.record({
      actor: { kind: 'person', id: personId, name: email, address: here.request.address, operator: true },
      orgId,
      what: 'operator.acts_for',
      subject: orgId,
    })
  return { value: { done: true } }
}

export const sessionRoutes: readonly ConsoleRoute[] = [
  bodied('PUT /session/organisation', {
    summary: 'Which organisation to look at; operators may act for any.',
    audience: 'person',
    body: chooseOrgBody,
    handler: chooseOrg,
  }),
  route('GET /session/all', {
    summary: 'The sessions of the person.',
    audience: 'person',
    answer: sessions,
    handler: listSessions,
  }),
  route('DELETE /session/all', {
    summary: 'Ends all other sessions of the person.',
    audience: 'person',
    handler: endOthers,
  }),
]
