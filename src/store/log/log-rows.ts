/** The rows of the log of receipts: its tiles, its end, and the secret of its salts. */
import type { Instant } from '../../core/time.ts'
import { type TileId, type Tiles, tileName } from '../../receipts/merkle.ts'
import { type Engine, type Row, type Statement, statement } from '../engine/engine.ts'
import { countOf, maybeBytes, textOf } from '../engine/row.ts'
import type { LogEnd } from './log-port.ts'

/** The setting with the secret that makes the salts of entries. */
export const LOG_SALT = 'log_salt'

export const END = 'select e.* from log_end e where e.id = 1'

/** The whole row: with the time up to which all postings are in, and the day whose sums come next. */
export type Mark = LogEnd & { readonly until: Instant; readonly day: Instant }

export const markOf = (row: Row): Mark => ({
  size: countOf(row, 'size'),
  root: Buffer.from(textOf(row, 'root'), 'hex'),
  began: countOf(row, 'began'),
  until: countOf(row, 'until'),
  day: countOf(row, 'day'),
  at: countOf(row, 'at'),
  token: textOf(row, 'token'),
})

export const bytesOf = (row: Row, column: string): Uint8Array => maybeBytes(row, column) ?? new Uint8Array()

/** Tiles by their ids. Proofs leave out the names of entries, which are a third of a tile of leaves. */
export const selectTiles = (engine: Engine, ids: readonly TileId[], what: 'hashes' | 'all'): Statement =>
  statement(
    `select ${what === 'all' ? 'g.*' : 'g.level, g.n, g.hashes'} from log_tile g join ${engine.dialect.each('$1')} e
       on g.level = cast(e.value->>'level' as bigint) and g.n = cast(e.value->>'n' as bigint)`,
    JSON.stringify(ids),
  )

export const tilesOf = (rows: readonly Row[]): Tiles =>
  new Map(
    rows.map((row) => [
      tileName({ level: countOf(row, 'level'), n: countOf(row, 'n') }),
      bytesOf(row, 'hashes'),
    ]),
  )
