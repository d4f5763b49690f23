/** Keys of an import that cannot be here as they are there: deleted here, of another organisation here, or below such a key. */
import type { Control } from '../../control/act.ts'
import { parentsFirst } from './apply.ts'
import type { Imported } from './imported.ts'

/** Leaves them out, and tells each: what is done with them there changes nothing here. */
export const withoutPlaceless = async (
  { store }: Pick<Control, 'store'>,
  imported: Imported,
): Promise<Imported> => {
  const all = Object.entries(imported.organisations)
  const found = await store.keys.keysOf(all.flatMap(([, { keys }]) => Object.keys(keys)))
  const here = new Map(found.map((key) => [key.id, key]))
  const told: string[] = []
  const organisations = all.map(([org, organisation]) => {
    const out = new Set<unknown>()
    const kept = [...parentsFirst(organisation.keys)].filter(([id, { label, parent }]) => {
      const key = here.get(id)
      const why =
        key?.deleted === true
          ? 'it was deleted here, for good'
          : key !== undefined && key.orgId !== org
            ? `it is a key of ${key.orgId} here and stays that, while there it would be one of ${org}`
            : key === undefined && out.has(parent)
              ? `the key above it, ${String(parent)}, is left out`
              : undefined
      if (why === undefined) return true
      out.add(id)
      told.push(`key ${String(label)}: left out, ${why}`)
      return false
    })
    return [org, { ...organisation, keys: Object.fromEntries(kept) }]
  })
  return {
    ...imported,
    organisations: Object.fromEntries(organisations),
    told: [...imported.told, ...told],
  }
}
