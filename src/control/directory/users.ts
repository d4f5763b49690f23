/** What a user of the directory is here: a person of the organisation while they are active, with what their groups give. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { harmless, storable } from '../../core/storable.ts'
import type { Resource } from '../../store/people/directory-port.ts'
import type { Acting } from '../act.ts'
import { PROVED_BY } from '../people/adding.ts'
import { personBy } from '../people/new-person.ts'
import { personToAdd } from '../people/proof.ts'
import { email as emailForm } from '../read.ts'
import { nameIn, valuesAt } from './filter.ts'
import { applyGroups, letGo } from './rule.ts'

const textAt = (attributes: JsonObject, ...path: string[]): string | undefined =>
  valuesAt(attributes, path).find((one): one is string => typeof one === 'string' && one !== '')

/** The address of an account: the primary e-mail address, else the first one, else a userName that is one. */
const addressOf = (attributes: JsonObject): string => {
  const emails = attributes[nameIn(attributes, 'emails') ?? '']
  const list = Array.isArray(emails) ? emails.filter((one: Json) => isObject(one)) : []
  const primary = list.find((one: JsonObject) => String(one.primary).toLowerCase() === 'true') ?? list[0]
  const found =
    (primary === undefined ? undefined : textAt(primary, 'value')) ?? textAt(attributes, 'userName')
  const read = emailForm.safeParse(found)
  if (read.success) return read.data
  throw refuse(
    'invalid_parameter',
    "'emails' must have an e-mail address, or 'userName' be one: people sign in by it.",
    {
      members: { param: 'emails' },
    },
  )
}

const nameOf = (attributes: JsonObject, address: string): string => {
  const whole = [textAt(attributes, 'name', 'givenName'), textAt(attributes, 'name', 'familyName')]
  const known = textAt(attributes, 'displayName') ?? textAt(attributes, 'name', 'formatted')
  const name = known ?? (whole.filter((part) => part !== undefined).join(' ') || address)
  return harmless(storable(name)).slice(0, 200)
}

/** The account of the user, made if nobody has the address. One that is there is taken if its owner has proved it, or is in already. */
const personOf = async (
  acting: Acting,
  orgId: string,
  { personId, attributes }: Resource,
): Promise<string> => {
  const { people, members } = acting.control.store
  if (personId !== undefined) return personId
  const email = addressOf(attributes)
  const known = await personBy(people, email)
  if (known !== undefined && (await members.list({ orgId, personId: known.id })).length > 0) return known.id
  const wanted = { email, name: nameOf(attributes, email), now: acting.control.clock.now() }
  const added = await personToAdd(people, wanted)
  return must(
    added?.person.id ??
      refuse('forbidden', `'${email}' has an account whose owner has not proved the address. ${PROVED_BY}`, {
        members: { reason: 'not_proved' },
      }),
  )
}

/** Makes it so, whoever changes the user meanwhile: what is done last is what the user is then. Throws the refusal of what cannot be. */
export const settleUser = async (acting: Acting, orgId: string, id: string, before?: Resource) => {
  const { directory } = acting.control.store
  const [user] = await directory.resources({ orgId, kind: 'User', id })
  if (user?.active === true) {
    const personId = await personOf(acting, orgId, user)
    if (
      !(await directory.notePerson({ orgId, id }, personId)) &&
      (await directory.resources({ orgId, id })).length > 0
    )
      throw refuse('already_exists', 'Another user of the directory is this person.')
    const groups = (await directory.groupMembers(orgId, id)).map(({ groupId }) => groupId)
    const named = await directory.resources({ orgId, kind: 'Group' })
    const names = named
      .filter((group) => groups.includes(group.id))
      .flatMap((group) => textAt(group.attributes, 'displayName') ?? [])
    await applyGroups(acting, { orgId, personId }, names)
  } else {
    const personId = user?.personId ?? before?.personId
    if (personId !== undefined) await letGo(acting, { orgId, personId })
  }
  const [after] = await directory.resources({ orgId, kind: 'User', id })
  if (after?.version !== user?.version) await settleUser(acting, orgId, id, user ?? before)
}
