/** The directory of cells: a file that says which cells there are and where, read again when it changes. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { type Clock, inRounds } from '../core/time.ts'
import { BadSetting } from '../settings/bad-setting.ts'
import { CELL_NAME, CELL_NAME_IS } from '../settings/cells.ts'

/** A gateway of a cell. */
export type CellAddress = {
  /** Its origin, such as http://10.0.0.1:8787. */
  readonly url: string
  /** How many calls it gets in proportion to the others of its cell; 0 gives it none, so that it can be taken away. */
  readonly weight: number
}

export type Cell = {
  readonly name: string
  readonly addresses: readonly CellAddress[]
  /** The host, in small letters, under which people reach its console and its public pages. */
  readonly host: string | undefined
  /** The origin of that console; undefined for a cell whose console people of other cells do not reach. */
  readonly console: string | undefined
}

export type Directory = {
  readonly cells: ReadonlyMap<string, Cell>
  /** The cell of keys without a name, and of whatever brings no key. */
  readonly first: Cell
  /** The cell of all payments without a key; undefined if each cell takes those that come to its host. */
  readonly payments?: Cell | undefined
}

const HTTP_ORIGIN = 'must be an address such as http://10.0.0.1:8787, without a path'
const origin = z
  .string(HTTP_ORIGIN)
  .refine((text) => /^https?:\/\/[^/?#@\s]+\/?$/.test(text) && URL.canParse(text), HTTP_ORIGIN)
  .transform((text) => new URL(text).origin)
const WEIGHT = 'must be a whole number from 0 to 1000'
const address = z.union(
  [
    origin.transform((url): CellAddress => ({ url, weight: 1 })),
    z.strictObject({ url: origin, weight: z.int(WEIGHT).min(0, WEIGHT).max(1_000, WEIGHT).default(1) }),
  ],
  `${HTTP_ORIGIN}, or url and weight (0 to 1000)`,
)
const shape = z.strictObject({
  first: z.string('must name the cell of keys that carry no name'),
  payments: z.string('must name the cell of payments without a key').optional(),
  cells: z.record(
    z.string().regex(CELL_NAME, `must be ${CELL_NAME_IS}`),
    z.strictObject({
      addresses: z
        .array(address, 'must list the addresses of its gateways')
        .min(1, 'must list at least one address'),
      console: origin.optional(),
    }),
    'must have the cells by name, each with its addresses',
  ),
})

/** What is wrong with one field, behind its name. */
const problemOf = (issue: z.core.$ZodIssue): string => {
  const where = issue.path.length === 0 ? 'the file' : issue.path.join('.')
  return `${where}: ${issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message}`
}

/** Reads the text of a directory. Throws BadSetting with a line for each thing that is wrong. */
export const readDirectory = (text: string, path: string): Directory => {
  const wrong = (...lines: string[]) => new BadSetting(lines.map((line) => `${path}: ${line}`).join('\n'))
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    throw wrong(`is not valid YAML: ${messageOf(error).split('\n')[0]}`)
  }
  const read = shape.safeParse(value)
  if (!read.success) throw wrong(...read.error.issues.map(problemOf))
  const cells = new Map(
    Object.entries(read.data.cells).map(([name, { addresses, console }]) => [
      name,
      { name, addresses, console, host: console === undefined ? undefined : new URL(console).host },
    ]),
  )
  const oneOf = (member: string, name: string) => {
    const cell = cells.get(name)
    if (cell === undefined) throw wrong(`${member}: must be one of ${[...cells.keys()].join(', ')}`)
    return cell
  }
  const first = oneOf('first', read.data.first)
  const { payments: paid } = read.data
  const payments = paid === undefined ? undefined : oneOf('payments', paid)
  const twice = (all: readonly (string | undefined)[]) =>
    all.find((one, at) => one !== undefined && all.indexOf(one) !== at)
  const url = twice([...cells.values()].flatMap(({ addresses }) => addresses.map((one) => one.url)))
  if (url !== undefined) throw wrong(`cells: ${url} stands there twice; an address is of one cell, once`)
  const host = twice([...cells.values()].map((cell) => cell.host))
  if (host !== undefined) throw wrong(`cells: ${host} is the console of two cells; each needs its own`)
  return { cells, first, payments }
}

const EVERY_MS = 1_000

type Watched = {
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>
  readonly log: Pick<Log, 'info' | 'warn'>
}

type OpenDirectory = {
  /** The cells as they are now. */
  readonly now: () => Directory
  readonly stop: () => void
}

/**
 * Reads the file, and again whenever it has changed. A change that cannot be used is told once, and what was before
 * stays. Throws BadSetting if the first one cannot be used.
 */
export const openDirectory = (path: string, { clock, log }: Watched): OpenDirectory => {
  const readText = (): string => {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      throw new BadSetting(`CELLS names '${path}', which cannot be read: ${messageOf(error)}`)
    }
  }
  let text = readText()
  let now = readDirectory(text, path)
  const look = async (): Promise<void> => {
    const changed = readText()
    if (changed === text) return
    now = readDirectory(changed, path)
    text = changed
    log.info('the directory of cells was read again', { outcome: [...now.cells.keys()].join(', ') })
  }
  const failed = 'the directory of cells cannot be used; the previous one stays'
  const stop = inRounds({ clock, log, pauseMs: () => EVERY_MS, waits: true, once: true, failed }, look)
  return { now: () => now, stop }
}
