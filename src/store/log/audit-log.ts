/**
 * Compares the log of receipts with the books: each entry is of one call or day of the books and says what they say, none is
 * missing, and the hashes above the leaves lead to the end that was signed. Log and books have one order, so both are read
 * side by side, once each; what has no partner yet waits.
 */
import { isObject, parseJson } from '../../core/json-body.ts'
import { DAY_MS, type Instant } from '../../core/time.ts'
import { NAME_BYTES } from '../../receipts/log-leaf.ts'
import { edgeOf, grown, HASH_BYTES, type Hash, TILE, type Tiles, tileName } from '../../receipts/merkle.ts'
import { type Engine, once, type Row } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'
import { readSettingIn } from '../engine/setting.ts'
import { timeOf } from '../months/call-ids.ts'
import { PRUNED } from '../prune/pruned-until.ts'
import { bytesOf, END, LOG_SALT, type Mark, markOf, selectTiles, tilesOf } from './log-rows.ts'
import { callsIn, daysIn } from './read-entries.ts'

/** Tiles that are read at once: 16,384 entries. */
const PAGE = 64
const LEAVES = `select g.n, g.hashes, g.names, g.last_at from log_tile g where g.level = 0 and g.n >= $1
  order by g.n limit ${PAGE}`

/** An entry of the log; `until`: the books name what it is of by then. */
type Logged = { readonly index: number; readonly leaf: Hash; readonly until: Instant }
/** What the books say; `due`: when it must be in the log. Without its detail its hash cannot be made again. */
type Booked = {
  readonly id: string
  readonly leaf: Hash
  readonly due: Instant
  readonly compared: boolean
}

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0
const keyOf = (name: Uint8Array): string => Buffer.from(name).toString('latin1')

/** The entries of both sides that have no partner yet. */
class Pairs {
  readonly #logged = new Map<string, Logged>()
  readonly #booked = new Map<string, Booked>()
  offence: string | undefined

  logged(name: string, entry: Logged): void {
    const booked = this.#booked.get(name)
    if (booked !== undefined) this.#pair(name, entry, booked)
    else if (this.#logged.has(name)) this.offence ??= `entry ${entry.index} is a second one of its call`
    else this.#logged.set(name, entry)
  }

  booked(name: string, entry: Booked): void {
    const logged = this.#logged.get(name)
    if (logged !== undefined) this.#pair(name, logged, entry)
    else if (this.#booked.has(name)) this.offence ??= `${entry.id} was charged twice`
    else this.#booked.set(name, entry)
  }

  #pair(name: string, { index, leaf }: Logged, booked: Booked): void {
    if (booked.compared && !same(leaf, booked.leaf))
      this.offence ??= `${booked.id} is another in entry ${index}`
    this.#logged.delete(name)
    this.#booked.delete(name)
  }

  /** Log and books have been read up to there: whoever should have a partner by then has one. */
  readUntil(at: Instant, ended: boolean): void {
    for (const { index, until } of this.#logged.values())
      if (until < at || ended) this.offence ??= `entry ${index} is of nothing in the books`
    for (const { id, due } of this.#booked.values())
      if (due < at || (ended && due <= at)) this.offence ??= `${id} is not in the log`
  }
}

/** Whether the end says what was signed; who signed it is for those to check who keep it. */
const isSigned = (row: Row, { token, size, began, at }: Mark): boolean => {
  if (token === '') return true
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return (
    isObject(claims) &&
    claims.size === size &&
    claims.root === textOf(row, 'root') &&
    claims.since === Math.floor(began / 1000) &&
    claims.iat === Math.floor(at / 1000)
  )
}

/** The tree that grows again from the leaves: what is above them must be what is stored. */
class Tree {
  size = 0
  root: Hash | undefined
  #edge: Tiles = new Map()

  async add(engine: Engine, leaves: readonly Hash[]): Promise<string | undefined> {
    const after = grown(this.size, this.#edge, leaves)
    this.size = after.size
    this.root = after.root
    const known = new Map(this.#edge)
    for (const { hashes, ...id } of after.tiles) known.set(tileName(id), hashes)
    const edge = edgeOf(after.size).map(tileName)
    this.#edge = new Map(edge.map((name) => [name, known.get(name) ?? new Uint8Array()]))
    const above = after.tiles.filter(({ level }) => level > 0)
    const stored = tilesOf(await once(engine, 'reading', selectTiles(engine, above, 'hashes')))
    // The log may have grown since its end was read.
    const wrong = above.find(
      ({ hashes, ...id }) =>
        !same(stored.get(tileName(id))?.subarray(0, hashes.length) ?? new Uint8Array(), hashes),
    )
    return wrong && `tile ${tileName(wrong)} is not what is below it`
  }
}

/** The entries of a page's tiles; undefined if they are not one after the other and whole. */
const entriesOf = (rows: readonly Row[], from: number, size: number) => {
  const entries: (Logged & { readonly name: string })[] = []
  for (const [place, row] of rows.entries()) {
    const first = (from + place) * TILE
    const [hashes, names] = [bytesOf(row, 'hashes'), bytesOf(row, 'names')]
    const count = Math.min(TILE, size - first)
    const held = hashes.length / HASH_BYTES
    if (countOf(row, 'n') !== from + place || names.length !== held * NAME_BYTES || held < count)
      return undefined
    for (let at = 0; at < count; at++)
      entries.push({
        index: first + at,
        name: keyOf(names.subarray(at * NAME_BYTES, (at + 1) * NAME_BYTES)),
        leaf: hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
        until: countOf(row, 'last_at'),
      })
  }
  return entries
}

/** Reads the books from one instant up to another, with the sums of days that end by then. */
const readBooks = async (
  engine: Engine,
  { pairs, mark, secret }: { readonly pairs: Pairs; readonly mark: Mark; readonly secret: string },
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<void> => {
  const calls = await callsIn(engine, secret, from, to)
  // Details may be deleted meanwhile; the mark is set first.
  const pruned = Number((await readSettingIn(engine, PRUNED)) ?? 0)
  for (const { id, name, leaf, at, detailed } of calls) {
    const dayEnd = at - (at % DAY_MS) + DAY_MS
    // While its day lasts, a call that a clock dated back may wait for the day's end.
    const due = dayEnd <= mark.day ? dayEnd : Number.POSITIVE_INFINITY
    pairs.booked(keyOf(name), { id, leaf, due, compared: detailed || timeOf(id) >= pruned })
  }
  for (let day = from - (from % DAY_MS); day + DAY_MS <= to && day < mark.day; day += DAY_MS)
    if (day >= mark.began)
      for (const { name, leaf } of await daysIn(engine, secret, day))
        pairs.booked(keyOf(name), {
          id: `the day ${new Date(day).toISOString().slice(0, 10)}`,
          leaf,
          due: day + DAY_MS,
          compared: true,
        })
}

/** What the log says otherwise than the books, if there is anything. */
export const logThatDiffers = async (engine: Engine): Promise<string | undefined> => {
  const [row] = await once(engine, 'reading', END)
  if (row === undefined)
    return (await once(engine, 'reading', LEAVES, 0)).length > 0 ? 'it has no end' : undefined
  const mark = markOf(row)
  if (!isSigned(row, mark)) return 'its end is not what was signed'
  if (mark.day % DAY_MS !== 0 || mark.until > mark.day + DAY_MS) return 'its end names no day'
  const secret = await readSettingIn(engine, LOG_SALT)
  if (secret === undefined) return mark.size === 0 ? undefined : 'the secret of its salts is gone'
  const [pairs, tree] = [new Pairs(), new Tree()]
  for (let [n, from, ended] = [0, mark.began, false]; !ended; n += PAGE) {
    const rows = await once(engine, 'reading', LEAVES, n)
    const entries = entriesOf(rows, n, mark.size)
    if (entries === undefined) return `a tile after entry ${n * TILE} is missing or cut`
    ended = n + PAGE >= mark.size / TILE
    const wrong = await tree.add(
      engine,
      entries.map(({ leaf }) => leaf),
    )
    for (const { name, ...entry } of entries) pairs.logged(name, entry)
    const to = ended ? mark.until : Math.min(entries.at(-1)?.until ?? 0, mark.until)
    await readBooks(engine, { pairs, mark, secret }, { from, to: Math.max(from, to) })
    pairs.readUntil(to, ended)
    if (wrong !== undefined || pairs.offence !== undefined) return pairs.offence ?? wrong
    from = Math.max(from, to)
  }
  return tree.size === mark.size && same(tree.root ?? new Uint8Array(), mark.root)
    ? undefined
    : 'its hashes do not lead to its end'
}
