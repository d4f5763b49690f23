/** Keys by what people type: an id, a token, or the beginning of one. */
import type { Store } from '../store/port.ts'
import type { KeyQuery } from '../store/tenancy-port.ts'
import type { Key } from '../tenancy/key.ts'
import { type Database, Failed } from './run-command.ts'

/** By id, by token, or by a beginning that fits just one; `deleted` finds also those that were deleted. */
export const findKey = async ({ store, hash }: Database, name: string, deleted = false): Promise<Key> => {
  const exact = name.startsWith('sk-') ? await store.keyByHash(hash(name)) : await store.key(name)
  if (exact !== undefined && (deleted || !exact.deleted)) return exact
  const [only, ...more] = await store.keys({ named: name, deleted })
  if (only === undefined)
    throw new Failed(`there is no key '${name.slice(0, 10)}…'; 'turnpike key list' shows them`)
  if (more.length > 0)
    throw new Failed(
      `'${name.slice(0, 10)}…' fits ${more.length + 1} keys; use an id from 'turnpike key list'`,
    )
  return only
}

/** All that a query finds, page by page. */
export const allKeys = async (store: Store, query: KeyQuery): Promise<readonly Key[]> => {
  const found: Key[] = []
  for (;;) {
    const after = found.at(-1)?.id
    const page = await store.keys({ ...query, ...(after === undefined ? {} : { after }) })
    if (page.length === 0) return found
    found.push(...page)
  }
}
