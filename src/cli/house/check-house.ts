/** Refuses a file of `turnpike apply` that cannot be made as it says, before anything is changed. */
import { bodyOf } from '../../control/act.ts'
import { keyGet } from '../../control/keys.ts'
import { organisationGet, organisationPut } from '../../control/organisations.ts'
import { keyPut } from '../../control/put-key.ts'
import { tenantGet } from '../../control/tenants/tenants.ts'
import { readAs } from '../../core/body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { type Applying, about, found, parentsFirst } from './apply.ts'
import type { WantedOrganisation } from './house-file.ts'

/** Refuses what can be no organisation, and a tenant that neither exists nor is one of the file's keys. */
const checkOrganisation = async (
  it: Applying,
  organisation: string,
  { name, tenants = {}, keys = {} }: WantedOrganisation,
): Promise<void> => {
  if ((await found(it, organisationGet, { organisation })) === undefined)
    must(readAs(bodyOf(organisationPut), { organisation, name }))
  for (const tenant of Object.keys(tenants))
    if (keys[tenant] === undefined && (await found(it, tenantGet, { organisation, tenant })) === undefined)
      throw refuse(
        'not_found',
        `There is no tenant '${tenant}' of ${organisation}; make it first, or name it among the keys with its parent.`,
      )
}

type Place = {
  readonly id: string
  /** The organisation in which the file has a key of this id already. */
  readonly home: string | undefined
  /** The key above it, if the file does not have that too. */
  readonly parent: string | undefined
}

/** Refuses a key that is deleted or of another organisation, and one below a key that is not of this organisation. */
const checkKey = async (it: Applying, organisation: string, { id, home, parent }: Place): Promise<void> => {
  const known = await found(it, keyGet, { key: id })
  if (known === undefined) must(readAs(bodyOf(keyPut, ['key']), { key: id }))
  if (known?.deleted === true)
    throw invalid('key', 'it was deleted, for good: choose another id, or take it out of the file.')
  const other = home ?? known?.organisation ?? organisation
  if (other !== organisation)
    throw invalid('key', `it is a key of ${other}: a key of ${organisation} needs another id.`)
  if (parent === undefined) return
  const above = await found(it, keyGet, { key: parent })
  if (above === undefined || above.deleted || above.organisation !== organisation)
    throw invalid(
      'parent',
      `its 'parent', '${parent}', is no key of ${organisation}: name that among its keys, or correct it.`,
    )
}

export const checkHouse = async (
  it: Applying,
  house: Readonly<Record<string, WantedOrganisation>>,
): Promise<void> => {
  const homes = new Map<string, string>()
  for (const [organisation, wanted] of Object.entries(house)) {
    await about(organisation, checkOrganisation(it, organisation, wanted))
    const { keys = {} } = wanted
    for (const [id, { parent: above }] of parentsFirst(keys)) {
      const parent = typeof above === 'string' && keys[above] === undefined ? above : undefined
      await about(`key ${id}`, checkKey(it, organisation, { id, home: homes.get(id), parent }))
      homes.set(id, organisation)
    }
  }
}
