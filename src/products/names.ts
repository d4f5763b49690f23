/** Names for agents and addresses: no slashes or dots, of bounded length, and different for any two products. */
const TOOL_MOST = 64
const HASH_LETTERS = 8

const hashOf = (id: string): string =>
  new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, HASH_LETTERS)

/** The name; if it is too long or taken, its end is replaced by a hash of the id. */
const unlike = (name: string, id: string, most: number): string =>
  `${name.slice(0, most - HASH_LETTERS - 1)}-${hashOf(id)}`

/** The id with `-` in place of `/` and `.`. */
const slugOf = (id: string): string => id.replaceAll(/[^A-Za-z0-9_-]/g, '-')

/** `<vendor>_<name>` in the letters that agents allow in names of tools. */
const toolOf = (id: string): string => id.replace('/', '_').replaceAll(/[^A-Za-z0-9_-]/g, '-')

export type Names = { readonly slug: string; readonly tool: string }

/**
 * Names of products by their ids. If two would get the same name, the first keeps it; names in `taken` go to no
 * product.
 */
export const namesOf = (ids: readonly string[], taken: readonly string[]): ReadonlyMap<string, Names> => {
  const slugs = new Set<string>()
  const tools = new Set<string>(taken)
  const free = (name: string, id: string, { used, most }: { used: Set<string>; most: number }): string => {
    const given = name.length > most || used.has(name) ? unlike(name, id, most) : name
    used.add(given)
    return given
  }
  return new Map(
    ids.map((id) => [
      id,
      {
        slug: free(slugOf(id), id, { used: slugs, most: Number.MAX_SAFE_INTEGER }),
        tool: free(toolOf(id), id, { used: tools, most: TOOL_MOST }),
      },
    ]),
  )
}
