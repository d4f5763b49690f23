/** POST /api/cells/people: of which organisations here somebody is a member, for a cell where they proved the address. */
import { personBy } from '../../control/people/new-person.ts'
import { nameOfOrganisation } from '../../control/tenants/statements.ts'
import { readAs } from '../../core/body.ts'
import { must } from '../../core/refusal.ts'
import { json } from '../answer/reply.ts'
import { readSmallBody } from '../request/read-body.ts'
import type { Handler } from '../route/route.ts'
import { cellPeopleBody } from '../schema/status.ts'
import { checkIsCell } from './of-cells.ts'

export const postCellPeople: Handler = async (gateway, call) => {
  checkIsCell(gateway, call)
  const { email } = must(readAs(cellPeopleBody, await readSmallBody(gateway, call)))
  const { store } = gateway
  const person = await personBy(store.people, email)
  const members = person === undefined ? [] : await store.members.list({ personId: person.id })
  const organisations = await Promise.all(
    members.map(async ({ orgId: id, role }) => ({ id, name: await nameOfOrganisation(gateway, id), role })),
  )
  return json({ organisations })
}
