/** Members of a request that a reader has no place for, by their places: what is not carried is named, never left out in silence. */
import type { Json, JsonObject } from '../core/json-body.ts'

/** The members a reader knows, and of others the values that ask for nothing. */
type Known = {
  readonly members: ReadonlySet<string>
  readonly usual?: Readonly<Record<string, readonly Json[]>>
}

export const known = (names: string, usual: Known['usual'] = {}): Known => ({
  members: new Set(names.split(' ')),
  usual,
})

/** Names of members that are there and not known, behind the place where they stand. */
export const unreadIn = (
  objects: readonly JsonObject[],
  { members, usual = {} }: Known,
  place = '',
): readonly string[] => {
  const names = new Set<string>()
  for (const object of objects)
    for (const name of Object.keys(object)) {
      const value = object[name]
      if (members.has(name) || value === undefined || value === null) continue
      if (!(Object.hasOwn(usual, name) && usual[name]?.includes(value))) names.add(place + name)
    }
  return [...names]
}
