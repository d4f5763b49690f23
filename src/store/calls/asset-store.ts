/** Rows of stored results: written before their bytes, visible once the bytes exist, deleted after them. */
import { integer, maybe, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type Statement, statement, Violation } from '../engine/engine.ts'
import { countOf, maybeBytes, onlyRow, textOf } from '../engine/row.ts'
import { mustBeHere } from '../faults.ts'
import { type Asset, type AssetStore, PART_PURPOSE } from './asset-port.ts'

const columns = {
  id: text('id'),
  keyId: text('key_id'),
  runId: text('run_id'),
  place: integer('place'),
  source: text('source'),
  sha256: text('sha256'),
  bytes: integer('bytes'),
  mediaType: text('media_type'),
  extension: text('extension'),
  width: maybe(integer('width')),
  height: maybe(integer('height')),
  createdAt: integer('created_at'),
  expiresAt: integer('expires_at'),
}
const assets = rowsOf(columns)
const uploads = rowsOf({ ...columns, purpose: text('purpose'), name: text('name') })
/** Everything except the bytes of results that are stored in their rows. */
const SHOWN = Object.values(columns)
  .map(({ name }) => name)
  .join(', ')

const UPLOAD = `${SHOWN}, purpose, name`

/** A result before its bytes exist. */
const NOTHING = { sha256: '', bytes: 0, mediaType: '', extension: '' }

/** Whether key `$2` owns the asset or is above the key that does. */
const owns = 'exists (select 1 from key_line n where n.owner_id = $2 and n.key_id = asset.key_id)'

export const assetStore = (engine: Engine): AssetStore => {
  const { now, each } = engine.dialect
  const lives = `ready = 1 and expires_at > ${now}`
  // An embedded engine's log is one file, written in order, so whoever waits for the later charge also waits for this.
  // With a ledger elsewhere, a charge may be stored only on this machine.
  const whole = engine.inline === undefined ? 'control' : 'relaxed'
  const insertWhole = `insert into asset (id, key_id, run_id, place, source, sha256, bytes, media_type, extension,
      width, height, body, ready, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, ${now}, ${now} + cast($13 as bigint))
    on conflict (run_id, place) where ready = 1 do nothing returning created_at, expires_at`
  const first = async (it: Statement): Promise<Asset | undefined> =>
    (await once(engine, 'control', it)).map(assets.read)[0]
  return {
    beginAsset: async (it, lifeMs) => {
      const insert = assets.insert(
        'asset',
        { ...it, ...NOTHING },
        { ready: '0', created_at: now, expires_at: (bind) => `${now} + cast(${bind(lifeMs)} as bigint)` },
      )
      await once(engine, 'control', insert)
    },
    finishAsset: async (id, it, lifeMs, note) => {
      const change = `update asset set ready = 1, sha256 = $2, bytes = $3, media_type = $4, extension = $5,
          width = $6, height = $7, created_at = ${now}, expires_at = ${now} + cast($8 as bigint),
          purpose = $9, name = $10
        where id = $1 and ready = 0 returning ${SHOWN}`
      const size = [it.width ?? null, it.height ?? null] as const
      const noted = [note?.purpose ?? null, note?.name ?? null] as const
      const params = [id, it.sha256, it.bytes, it.mediaType, it.extension, ...size, lifeMs, ...noted]
      return (await unlessTaken(once(engine, 'control', change, ...params))).map(assets.read)[0]
    },
    addWhole: async (list, lifeMs) => {
      const rows = list.map((it) => {
        const { id, keyId, runId, place, source, sha256, bytes, mediaType, extension, body } = it
        const size = [it.width ?? null, it.height ?? null] as const
        const measured = [sha256, bytes, mediaType, extension, ...size, body] as const
        return statement(insertWhole, id, keyId, runId, place, source, ...measured, lifeMs)
      })
      const added = await engine.batch(whole, rows)
      return added.map(([times], at) => {
        const it = list[at]
        if (times === undefined || it === undefined) return undefined
        const { body: _, ...rest } = it
        return { ...rest, createdAt: countOf(times, 'created_at'), expiresAt: countOf(times, 'expires_at') }
      })
    },
    bodyOf: async (id) => {
      const [row] = await once(engine, 'control', `select body from asset where id = $1 and ${lives}`, id)
      return row === undefined ? undefined : maybeBytes(row, 'body')
    },
    assetOfRun: (runId, place) =>
      first(
        statement(`select ${SHOWN} from asset where run_id = $1 and place = $2 and ready = 1`, runId, place),
      ),
    asset: (id) => first(statement(`select ${SHOWN} from asset where id = $1 and ${lives}`, id)),
    assetFor: (id, keyId) =>
      first(statement(`select ${SHOWN} from asset where id = $1 and ${owns} and ${lives}`, id, keyId)),
    endAsset: async (id, keyId) => {
      const end = `update asset set expires_at = 0 where id = $1 and ${owns} and ${lives} returning id`
      return (await once(engine, 'control', end, id, keyId)).length > 0
    },
    endedAssets: async (most, skip = 0) => {
      const ended = `select id from asset where expires_at <= ${now} order by expires_at, bytes, id limit $1 offset $2`
      return (await once(engine, 'control', ended, most, skip)).map((row) => textOf(row, 'id'))
    },
    forgetAssets: async (ids) => {
      const forget = `delete from asset where id in (select e.value->>'id' from ${each('$1')} e)`
      await once(engine, 'control', forget, JSON.stringify(ids.map((id) => ({ id }))))
    },
    assetBytes: async (small) => {
      const sumOf = (which: string) => `coalesce(cast(sum(${which}) as bigint), 0)`
      const sums = `select ${sumOf('bytes')} as all_bytes, ${sumOf('case when bytes <= $1 then bytes else 0 end')} as small_bytes
        from asset`
      const row = onlyRow(await once(engine, 'reading', sums, small))
      return { all: countOf(row, 'all_bytes'), small: countOf(row, 'small_bytes') }
    },
    ...uploadsOf(engine),
  }
}

/** Nothing if the place in a run is taken: its index allows one result each. */
const unlessTaken = async (change: Promise<readonly Row[]>): Promise<readonly Row[]> => {
  try {
    return await change
  } catch (error) {
    if (error instanceof Violation) return []
    throw error
  }
}

/** The rows with a purpose, which are uploads. */
const uploadsOf = (
  engine: Engine,
): Pick<AssetStore, 'uploadFor' | 'uploads' | 'hasAsset' | 'uploadBytes'> => {
  const { now } = engine.dialect
  const lives = `purpose is not null and ready = 1 and expires_at > ${now}`
  return {
    uploadFor: async (id, keyId) => {
      const one = statement(`select ${UPLOAD} from asset where id = $1 and ${owns} and ${lives}`, id, keyId)
      return (await once(engine, 'control', one)).map(uploads.read)[0]
    },
    uploads: async ({ keyId, purpose, after, newestFirst, limit }) => {
      const [direction, side] = newestFirst ? ['desc', '<'] : ['asc', '>']
      const page = `select ${UPLOAD} from asset
        where key_id in (select n.key_id from key_line n where n.owner_id = $1) and ${lives}
          and (purpose = $2 or ($2 = '' and substr(purpose, 1, ${PART_PURPOSE.length}) <> '${PART_PURPOSE}'))
          and ($3 = '' or (created_at, id) ${side} (select a.created_at, a.id from asset a where a.id = $3))
        order by created_at ${direction}, id ${direction} limit $4`
      const rows = await once(engine, 'control', page, keyId, purpose ?? '', after ?? '', limit)
      return rows.map(uploads.read)
    },
    hasAsset: async (id) =>
      (await once(engine, 'control', 'select id from asset where id = $1', id)).length > 0,
    uploadBytes: async (keyId) => {
      const sum = (who: string) =>
        `coalesce((select cast(sum(bytes) as bigint) from asset where ${who} ${lives}), 0)`
      const both = `select ${sum('key_id = $1 and')} as own_bytes, ${sum('')} as all_bytes,
        (select k.cell from api_key k where k.id = $1) as cell`
      const row = onlyRow(await once(engine, 'control', both, keyId))
      // A file may take long to come: its organisation may have begun to leave meanwhile.
      mustBeHere(row, keyId)
      return { own: countOf(row, 'own_bytes'), all: countOf(row, 'all_bytes') }
    },
  }
}
