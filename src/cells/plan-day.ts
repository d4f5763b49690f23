/**
 * A day of organisations in cells, in virtual time: how far the busiest cell is from the mean by how organisations are placed, how
 * much load would have to move, and how much of it moves can carry. Only loads are played, neither gateways nor ledgers.
 *
 * Sizes are Pareto with four fifths of the calls in one fifth of the organisations, each in one of three parts of the world; each
 * hour some grow twentyfold.
 */

export type DayOf = {
  readonly cells: number
  readonly organisations: number
  /** Calls a second of all, on the mean of the day. */
  readonly calls: number
  /** Calls a second that a cell carries. */
  readonly capacity: number
  /** Rows a second that a move copies, and for how many days details of calls are kept. */
  readonly rows: number
  readonly days: number
  readonly seed: number
}

export type Day = {
  /** The calls a second of the largest organisation. */
  readonly largest: number
  /** Those of the largest that can move in the time that a move may take, and how many are larger. */
  readonly largestMoved: number
  readonly tooLarge: number
  /** The calls a second that a cell can give away in a day of moves, whichever organisations those are. */
  readonly givenInADay: number
  readonly placements: readonly Placement[]
}

type Placement = {
  readonly placed: string
  /** How busy the busiest cell is at most, as a share of the mean, and of what a cell carries. */
  readonly ofMean: number
  readonly ofCapacity: number
  /** The calls a second beyond 105 % of the mean, and how many moves of the largest that can move would carry them. */
  readonly toMove: number
  readonly moves: number
}

/** A posting and its detail. */
const ROWS_A_CALL = 2
const DAY_SECONDS = 86_400
/** The longest transaction of a move. */
export const LONGEST_SECONDS = 6 * 3_600
/** Beyond this, of the mean, a cell is to give load away. */
const TOO_BUSY = 1.05
const STEP_SECONDS = 300
const GROWN_AN_HOUR = 20
const GROWTH = 20
const PARTS = 3
/** How much the load of a part of the world rises and falls. */
const SWING = 0.6
/** Four fifths in one fifth. */
const PARETO = Math.log(5) / Math.log(4)

/** Numbers from 0 to 1, the same for the same seed (mulberry32, public domain). */
const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
type Random = ReturnType<typeof randomFrom>

const sum = (all: Float64Array): number => all.reduce((total, one) => total + one, 0)
const most = (all: Float64Array): number => all.reduce((last, one) => Math.max(last, one), 0)

/** Calls a second of each, from the largest on; none is larger than what a cell carries. */
const sizesOf = ({ organisations, calls, capacity }: DayOf, random: Random): Float64Array => {
  const sizes = new Float64Array(organisations).map(() => (1 - random()) ** (-1 / PARETO))
  const rate = calls / sum(sizes)
  return sizes.map((one) => Math.min(one * rate, capacity)).sort((one, other) => other - one)
}

/** The cell of each: by the hash of its id, as trials are placed; or where there is most room, the largest first. */
const placements: Readonly<
  Record<string, (sizes: Float64Array, cells: number, random: Random) => Uint16Array>
> = {
  'by hash': (sizes, cells, random) => Uint16Array.from(sizes, () => Math.floor(random() * cells)),
  'where there is room': (sizes, cells) => {
    const loads = new Float64Array(cells)
    return Uint16Array.from(sizes, (size) => {
      const cell = loads.indexOf(Math.min(...loads))
      loads[cell] = (loads[cell] ?? 0) + size
      return cell
    })
  },
}

/** How many calls a second each makes, and the part of the world that it is in. */
type Organisations = { readonly sizes: Float64Array; readonly partOf: Uint8Array }

/** A day, in which the loads of cells follow the sun over the organisations that are in them. */
const playDay = (
  { cells, capacity }: DayOf,
  { sizes, partOf }: Organisations,
  cellOf: Uint16Array,
  random: Random,
) => {
  const grown = new Set<number>()
  const byPart = Array.from({ length: PARTS }, () => new Float64Array(cells))
  const add = (organisation: number, calls: number): void => {
    const loads = byPart[partOf[organisation] ?? 0]
    const cell = cellOf[organisation] ?? 0
    if (loads !== undefined) loads[cell] = (loads[cell] ?? 0) + calls
  }
  for (const [organisation, calls] of sizes.entries()) add(organisation, calls)
  const grow = (): void => {
    const organisation = Math.floor(random() * sizes.length)
    // Each grows once.
    if (grown.has(organisation)) return
    grown.add(organisation)
    add(organisation, (sizes[organisation] ?? 0) * (GROWTH - 1))
  }
  let [ofMean, ofCapacity, toMove] = [0, 0, 0]
  for (let second = 0; second < DAY_SECONDS; second += STEP_SECONDS) {
    if (second % 3_600 === 0) for (let each = 0; each < GROWN_AN_HOUR; each++) grow()
    const loads = new Float64Array(cells).map((_, cell) =>
      byPart.reduce((all, loads, part) => all + (loads[cell] ?? 0) * waking(second, part), 0),
    )
    const mean = sum(loads) / cells
    ofMean = Math.max(ofMean, most(loads) / mean)
    ofCapacity = Math.max(ofCapacity, most(loads) / capacity)
    toMove = Math.max(toMove, sum(loads.map((one) => Math.max(0, one - TOO_BUSY * mean))))
  }
  return { ofMean, ofCapacity, toMove }
}

const waking = (second: number, part: number): number =>
  1 + SWING * Math.sin(2 * Math.PI * (second / DAY_SECONDS - part / PARTS))

/** Plays a day; the same seed gives the same day. */
export const planDay = (it: DayOf): Day => {
  const random = randomFrom(it.seed)
  const sizes = sizesOf(it, random)
  const partOf = Uint8Array.from(sizes, () => Math.floor(random() * PARTS))
  const secondsACall = (DAY_SECONDS * it.days * ROWS_A_CALL) / it.rows
  const largestMoved = LONGEST_SECONDS / secondsACall
  const movable = sizes.findIndex((size) => size <= largestMoved)
  const tooLarge = movable < 0 ? sizes.length : movable
  return {
    ...{ largest: sizes[0] ?? 0, largestMoved, tooLarge, givenInADay: DAY_SECONDS / secondsACall },
    placements: Object.entries(placements).map(([placed, place]) => {
      const day = playDay(it, { sizes, partOf }, place(sizes, it.cells, random), random)
      return { placed, ...day, moves: Math.ceil(day.toMove / (sizes[tooLarge] ?? Number.POSITIVE_INFINITY)) }
    }),
  }
}
