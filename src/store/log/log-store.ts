/**
 * The log of receipts in the store. Calls write nothing for it: whoever locks its end adds what was charged minutes ago, when
 * everything in progress at that time has been committed, and signs the new end in the same transaction. So two processes make
 * one log, and what was shown was durable.
 */
import { randomBytes } from 'node:crypto'
import { DAY_MS, HOUR_MS, type Instant } from '../../core/time.ts'
import { NAME_BYTES, nameDigest, saltOf } from '../../receipts/log-leaf.ts'
import { EMPTY_ROOT, edgeOf, grown, TILE, type TileId } from '../../receipts/merkle.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, once, type Row, type Run } from '../engine/engine.ts'
import { countOf } from '../engine/row.ts'
import { settingIn } from '../engine/setting.ts'
import { SETTLED_AFTER_MS, underWaySince } from '../reports/under-way.ts'
import type { LogStore, SignEnd } from './log-port.ts'
import { bytesOf, END, LOG_SALT, type Mark, markOf, selectTiles, tilesOf } from './log-rows.ts'
import { callsIn, daysIn, dayTextOf, type Entry, nextPosting } from './read-entries.ts'

/** How much time is read at once: some thousand calls on a busy server. */
const SPAN_MS = 10_000

/** The part of entries, which begin at a size, that lies in a tile of leaves. */
const within = (entries: readonly Entry[], size: number, n: number): readonly Entry[] =>
  entries.slice(Math.max(0, n * TILE - size), Math.max(0, (n + 1) * TILE - size))

const writeTiles = async (
  run: Run,
  edge: readonly Row[],
  entries: readonly Entry[],
  { size, tiles }: { readonly size: number; readonly tiles: readonly (TileId & { hashes: Uint8Array })[] },
): Promise<void> => {
  const upsert = `insert into log_tile (level, n, hashes, names, first_at, last_at, late_at)
    values ($1, $2, $3, $4, $5, $6, $7) on conflict (level, n) do update set hashes = excluded.hashes,
      names = excluded.names, last_at = excluded.last_at, late_at = excluded.late_at`
  for (const { level, n, hashes } of tiles) {
    if (level > 0) {
      await run(upsert, [level, n, hashes, null, null, null, null])
      continue
    }
    const held = edge.find((row) => countOf(row, 'level') === 0 && countOf(row, 'n') === n)
    const added = within(entries, size, n)
    const names = [...(held === undefined ? [] : [bytesOf(held, 'names')]), ...added.map(({ name }) => name)]
    const late = [
      ...(held === undefined || held.late_at === null ? [] : [countOf(held, 'late_at')]),
      ...added.flatMap((entry) => entry.late ?? []),
    ]
    const last = added.at(-1)?.at ?? (held === undefined ? 0 : countOf(held, 'last_at'))
    const first = added[0]?.at ?? last
    const lateAt = late.length === 0 ? null : Math.min(...late)
    await run(upsert, [level, n, hashes, Buffer.concat(names), first, last, lateAt])
  }
}

type Step = {
  readonly before: Mark
  readonly entries: readonly Entry[]
  readonly marks: Pick<Mark, 'until' | 'day'>
}

/** Adds entries, unless somebody else has moved the end meanwhile. */
const add = (engine: Engine, { before, entries, marks }: Step, sign: SignEnd): Promise<void> =>
  engine.transaction('control', async (run) => {
    const [row] = await run(`${END}${engine.dialect.lock('e')}`)
    if (row === undefined || countOf(row, 'until') !== before.until || countOf(row, 'day') !== before.day)
      return
    const { text, params } = selectTiles(engine, edgeOf(before.size), 'all')
    const edge = await run(text, params)
    const after = grown(
      before.size,
      tilesOf(edge),
      entries.map(({ leaf }) => leaf),
    )
    await writeTiles(run, edge, entries, { size: before.size, tiles: after.tiles })
    const [clock] = await run(`select ${engine.dialect.now} as now`)
    const at = clock === undefined ? before.at : countOf(clock, 'now')
    const token = sign({ size: after.size, root: after.root, began: before.began, at }, before.size)
    await run(
      'update log_end set size = $1, root = $2, until = $3, day = $4, at = $5, token = $6 where id = 1',
      [after.size, Buffer.from(after.root).toString('hex'), marks.until, marks.day, at, token],
    )
  })

const begin = async (engine: Engine, sign: SignEnd): Promise<void> => {
  const now = await clockOf(engine)
  const began = Math.min(now, await underWaySince(engine)) - SETTLED_AFTER_MS
  const token = sign({ size: 0, root: EMPTY_ROOT, began, at: now }, 0)
  const text = `insert into log_end (id, size, root, began, until, day, at, token) values (1, 0, $1, $2, $2, $3, $4, $5)
    on conflict (id) do nothing`
  const day = began - (began % DAY_MS)
  const root = Buffer.from(EMPTY_ROOT).toString('hex')
  await once(engine, 'control', text, root, began, day, now, token)
}

/** Tiles of leaves that may have what was posted in a span. */
const SPANNED = `select g.names from log_tile g where g.last_at >= $1
  and (g.first_at <= $2 or g.late_at <= $2)`

/** The first tile that may have what was posted then, which nearly always has it; after it the next one. */
const FROM = `select g.n, g.names, g.first_at, g.last_at from log_tile g
  where g.last_at >= $1 and (g.last_at > $1 or g.n > $2) order by g.last_at, g.n limit 1`
const LATE = 'select g.n, g.names from log_tile g where g.late_at <= $1 order by g.n'

/** Calls of a day that were dated before what was in the log by then: a clock was set back by more than minutes. */
const missedIn = async (
  engine: Engine,
  secret: string,
  { from, dayEnd }: { readonly from: Instant; readonly dayEnd: Instant },
): Promise<readonly Entry[]> => {
  const missed: Entry[] = []
  for (let hour = from; hour < dayEnd; hour += HOUR_MS) {
    const to = Math.min(hour + HOUR_MS, dayEnd)
    const posted = await callsIn(engine, secret, hour, to)
    if (posted.length === 0) continue
    const rows = await once(engine, 'reading', SPANNED, hour, to)
    const known = new Set(rows.flatMap((row) => namesIn(bytesOf(row, 'names'))))
    const unknown = posted.filter(({ name }) => !known.has(Buffer.from(name).toString('latin1')))
    missed.push(...unknown.map((entry) => ({ ...entry, at: dayEnd, late: entry.at })))
  }
  return missed
}

const namesIn = (names: Uint8Array): readonly string[] => {
  const text = Buffer.from(names).toString('latin1')
  return Array.from({ length: names.length / NAME_BYTES }, (_one, at) =>
    text.slice(at * NAME_BYTES, (at + 1) * NAME_BYTES),
  )
}

/** What comes next; undefined if nothing does, and the end was signed lately. */
const nextStep = async (engine: Engine, secret: string, before: Mark): Promise<Step | undefined> => {
  const dayEnd = before.day + DAY_MS
  if (before.until >= dayEnd) {
    // A day that began before the log did has no sums.
    const whole = before.day >= before.began
    const missed = await missedIn(engine, secret, { from: Math.max(before.day, before.began), dayEnd })
    const entries = [...missed, ...(whole ? await daysIn(engine, secret, before.day) : [])]
    return { before, entries, marks: { until: before.until, day: dayEnd } }
  }
  const settled = Math.min((await underWaySince(engine)) - SETTLED_AFTER_MS, dayEnd)
  if (before.until >= settled) return undefined
  const from = (await nextPosting(engine, before.until)) ?? settled
  if (from >= settled)
    return settled === dayEnd ? { before, entries: [], marks: { until: dayEnd, day: before.day } } : undefined
  const to = Math.min(from + SPAN_MS, settled)
  const entries = await callsIn(engine, secret, from, to)
  return { before, entries, marks: { until: to, day: before.day } }
}

/** Where a name is among the names of tiles. */
const among = (rows: readonly Row[], wanted: Uint8Array): number | undefined => {
  for (const row of rows) {
    const names = Buffer.from(bytesOf(row, 'names'))
    let at = names.indexOf(wanted)
    while (at % NAME_BYTES > 0) at = names.indexOf(wanted, at + 1)
    if (at >= 0) return countOf(row, 'n') * TILE + at / NAME_BYTES
  }
  return undefined
}

const placeOf = async (engine: Engine, name: string, postedAt: Instant): Promise<number | undefined> => {
  const wanted = nameDigest(name)
  let [at, n] = [postedAt, -1]
  for (;;) {
    const rows = await once(engine, 'control', FROM, at, n)
    const found = among(rows, wanted)
    const [last] = rows
    if (found !== undefined) return found
    if (last === undefined || countOf(last, 'first_at') > postedAt) break
    ;[at, n] = [countOf(last, 'last_at'), countOf(last, 'n')]
  }
  return among(await once(engine, 'control', LATE, postedAt), wanted)
}

export const logStore = (engine: Engine): LogStore => {
  const secret = () => settingIn(engine, LOG_SALT, () => randomBytes(32).toString('hex'))
  const mark = async (): Promise<Mark | undefined> => (await once(engine, 'control', END)).map(markOf)[0]
  return {
    grow: async (sign) => {
      const before = await mark()
      if (before === undefined) {
        await begin(engine, sign)
        return true
      }
      const step = await nextStep(engine, await secret(), before)
      if (step !== undefined) await add(engine, step, sign)
      // Whoever reads an end that is old cannot tell whether newer ones are kept from them.
      else if (before.token === '' || (await clockOf(engine)) - before.at >= HOUR_MS)
        await add(engine, { before, entries: [], marks: before }, sign)
      return step !== undefined
    },
    end: mark,
    tiles: async (ids) =>
      ids.length === 0
        ? new Map()
        : tilesOf(await once(engine, 'control', selectTiles(engine, ids, 'hashes'))),
    placeOf: (name, postedAt) => placeOf(engine, name, postedAt),
    salt: async (name) => saltOf(await secret(), name),
    dayText: (account, day) => dayTextOf(engine, account, Date.parse(day)),
  }
}
