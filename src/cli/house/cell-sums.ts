/** `turnpike cell sums`: what all cells have and have charged together, and whether their books agree with each other. */
import type { Command } from 'commander'
import { decimalFromNano, type Nano, usdNumber } from '../../core/money.ts'
import type { CellSums } from '../../store/move/cell-port.ts'
import { openStore } from '../../store/open-store.ts'
import type { Store } from '../../store/port.ts'
import { placeOf } from '../config/database-place.ts'
import { Failed, print, tableOf } from '../run/run-command.ts'
import { ledgerAt, ledgerHere } from './ledger-address.ts'

type Options = { readonly database: readonly string[]; readonly audit?: boolean; readonly json?: boolean }
type Named = { readonly place: string; readonly sums: CellSums; readonly broken: readonly string[] }

/** What left one cell and is not in another yet. */
const underWay = (all: readonly Named[]): Nano => {
  const arrived = all.reduce((ids, { sums }) => ids.union(sums.arrived), new Set<string>())
  return total(
    all.flatMap(({ sums }) => [...sums.left].filter(([move]) => !arrived.has(move)).map(([, usd]) => usd)),
  )
}

const total = (amounts: readonly Nano[]): Nano => amounts.reduce((all, one) => all + one, 0n)

/** What is between the cells and not under way: nothing, unless a ledger has forgotten something. */
const unexplained = (all: readonly Named[]): Nano =>
  total(all.map(({ sums }) => sums.between)) - underWay(all)

const TRIES = 3
const AGAIN_MS = 1_000

/** Ledgers are read one after another: a move that ends meanwhile is seen whole at another look. */
const readAll = async (ledgers: readonly { place: string; store: Store }[], audit: boolean) => {
  for (let tries = 1; ; tries++) {
    const all = await Promise.all(
      ledgers.map(async ({ place, store }) => ({ place, sums: await store.cells.sums(), broken: [] })),
    )
    if (tries < TRIES && unexplained(all) !== 0n) {
      await Bun.sleep(AGAIN_MS)
      continue
    }
    if (!audit) return all
    const laws = await Promise.all(ledgers.map(({ store }) => store.ledger.audit()))
    return all.map((one, at) => ({
      ...one,
      broken: (laws[at] ?? []).filter(({ ok }) => !ok).map(({ check }) => check),
    }))
  }
}

const rowOf = (
  place: string,
  sums: Pick<CellSums, 'organisations' | 'balance' | 'held' | 'owed' | 'today' | 'between'>,
) => ({
  cell: place,
  organisations: sums.organisations,
  balance_usd: usdNumber(sums.balance),
  held_usd: usdNumber(sums.held),
  owed_usd: usdNumber(sums.owed),
  charged_today_usd: usdNumber(sums.today),
  between_usd: usdNumber(sums.between),
})

const sums = async ({ database, audit = false, json }: Options): Promise<void> => {
  const urls = [await ledgerHere()]
  for (const given of database) urls.push(await ledgerAt(given))
  const ledgers: { place: string; store: Store }[] = []
  try {
    for (const url of urls) ledgers.push({ place: placeOf(url), store: await openStore({ url }) })
    const all = await readAll(ledgers, audit)
    const add = (of: (one: CellSums) => Nano): Nano => total(all.map((one) => of(one.sums)))
    const rows = all.map((one) => ({
      ...rowOf(one.place, one.sums),
      ...(audit ? { laws: one.broken.length === 0 ? 'hold' : one.broken.join('; ') } : {}),
    }))
    const together = rowOf('together', {
      organisations: all.reduce((count, one) => count + one.sums.organisations, 0),
      ...{
        balance: add(({ balance }) => balance),
        held: add(({ held }) => held),
        owed: add(({ owed }) => owed),
      },
      ...{ today: add((one) => one.today), between: add(({ between }) => between) },
    })
    const moving = underWay(all)
    print(
      json,
      { cells: rows, together: { ...together, under_way_usd: usdNumber(moving) } },
      `${tableOf([...rows, { ...together, ...(audit ? { laws: '' } : {}) }])}\n${decimalFromNano(moving)} USD are under way between them.\n`,
    )
    mustAgree(all)
  } finally {
    for (const { store } of ledgers) await store.close()
  }
}

/** Throws Failed where a law is broken in a cell, or between them. */
const mustAgree = (all: readonly Named[]): void => {
  const broken = all.filter((one) => one.broken.length > 0)
  if (broken.length > 0)
    throw new Failed(`laws do not hold in ${broken.map(({ place }) => place).join(', ')}`)
  const rest = unexplained(all)
  if (rest !== 0n)
    throw new Failed(
      `${decimalFromNano(rest)} USD are between the cells and not under way: a ledger is missing here, or one was restored from a backup of before a move (docs/scaling.md)`,
    )
}

export const sumsCommand = (cell: Command): void => {
  cell
    .command('sums')
    .description('what all cells have and have charged together; fails when their books do not agree')
    .requiredOption(
      '--database <address...>',
      "the other cells' ledgers: their addresses, or files with them",
    )
    .option('--audit', 'also check every law of each')
    .option('--json', 'for programs')
    .action(sums)
}
