/** The organisations that a person has in other cells: those cells are asked, and one that is away is named. */
import type { z } from 'zod'
import { askCell } from '../../cells/ask-cell.ts'
import type { Cell } from '../../cells/directory.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { organisationsOf } from '../schema/cells.ts'

/** Where a cell tells the others of which organisations somebody is a member. */
const PEOPLE_PATH = '/api/cells/people'
/** The page shows what has answered by then. */
const PATIENCE_MS = 900

type CellWithConsole = Cell & { readonly console: string }

/** The other cells that have a console; none where this server knows no cells. */
export const otherCells = ({ cells }: Pick<Gateway, 'cells'>): readonly CellWithConsole[] =>
  cells === undefined
    ? []
    : [...cells.directory.now().cells.values()].filter(
        (cell): cell is CellWithConsole => cell.name !== cells.own && cell.console !== undefined,
      )

type Asked = {
  readonly name: string
  readonly away: boolean
  readonly organisations: z.output<typeof organisationsOf>['organisations']
}

const ask = async ({ cells, hash }: Gateway, cell: Cell, email: string) => {
  if (cells === undefined) return []
  const question = { path: PEOPLE_PATH, body: { email }, patienceMs: PATIENCE_MS }
  const told = await askCell({ places: cells.places, hash }, cell, question)
  return organisationsOf.parse(told).organisations
}

/** What each of the other cells has for the address, which its owner has proved. All are asked at once. */
export const askOthers = (gateway: Gateway, email: string): Promise<readonly Asked[]> =>
  Promise.all(
    otherCells(gateway).map(async (cell) => {
      const { name } = cell
      try {
        return { name, away: false, organisations: await ask(gateway, cell, email) }
      } catch (error) {
        gateway.log.warn('a cell does not say who its members are', { kind: name, error: String(error) })
        return { name, away: true, organisations: [] }
      }
    }),
  )
