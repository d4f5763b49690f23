/** Keys and the secret that made their hashes: while it changes, each key moves over when its token is next used. */
import { type Engine, once, statement } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import { keyOf } from './key-row.ts'
import type { KeyStore } from './tenancy-port.ts'

const STRANGER =
  'select 1 as n from api_key where deleted = 0 and hashed_by is not null and hashed_by not in ($1, $2) limit 1'
const OTHERWISE = `from api_key where deleted = 0 and hash not like 'sha256:%' and (hashed_by is null or hashed_by <> $1)`

export const rehashing = (
  engine: Engine,
): Pick<KeyStore, 'rehash' | 'hashedOtherwise' | 'hashedByStrangers'> => ({
  rehash: async (id, { before, hash, hashedBy }) => {
    await once(
      engine,
      'control',
      `update api_key set hash = $2, hashed_by = $3 where id = $1 and hash in (${before.map((_hash, at) => `$${at + 4}`).join()})`,
      id,
      hash,
      hashedBy ?? null,
      ...before,
    )
  },
  hashedOtherwise: async (by, most) => {
    const [counted = [], rows = []] = await engine.batch('control', [
      statement(`select count(*) as n ${OTHERWISE}`, by),
      statement(`select * ${OTHERWISE} order by created_at desc, id desc limit $2`, by, most),
    ])
    return { count: countOf(onlyRow(counted), 'n'), keys: rows.map(keyOf) }
  },
  hashedByStrangers: async (known) => (await once(engine, 'control', STRANGER, ...known)).length > 0,
})
