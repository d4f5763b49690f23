/** Finds keys by what people type: an id, a token, or the beginning of one. */
import { keyByToken } from '../../gateway/enter/key-by-token.ts'
import type { Key } from '../../tenancy/key.ts'
import { type Database, Failed } from './run-command.ts'

/** By id, by token, or by a beginning that only one key has; with `deleted` also among deleted keys. */
export const findKey = async ({ store, hash }: Database, name: string, deleted = false): Promise<Key> => {
  const exact = name.startsWith('sk-') ? await keyByToken({ store, hash }, name) : await store.keys.key(name)
  if (exact !== undefined && (deleted || !exact.deleted)) return exact
  const [only, ...more] = await store.keys.list({ named: name, deleted })
  if (only === undefined)
    throw new Failed(`there is no key '${name.slice(0, 10)}…'; 'turnpike key list' shows them`)
  if (more.length > 0)
    throw new Failed(
      `'${name.slice(0, 10)}…' fits ${more.length + 1} keys; use an id from 'turnpike key list'`,
    )
  return only
}
