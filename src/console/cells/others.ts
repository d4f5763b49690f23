/** The organisations that a person has in other cells: those cells are asked, and one that is away is named. */
import { z } from 'zod'
import type { Cell } from '../../cells/directory.ts'
import { parseJson } from '../../core/json-body.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { CELLS_PROOF } from '../../gateway/watch-cells.ts'
import { roles } from '../../store/people/people-port.ts'

/** Where a cell tells the others of which organisations somebody is a member. */
const PEOPLE_PATH = '/api/cells/people'
/** The page shows what has answered by then. */
const PATIENCE_MS = 900

/** What a cell answers there. */
export const organisationsOf = z.object({
  organisations: z.array(z.object({ id: z.string(), name: z.string(), role: z.enum(roles) })),
})

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
  const place = cells?.places.choose(cell)
  if (cells === undefined || place === undefined) throw new Error('none of its gateways answers')
  const answer = await fetch(`${place.url}${PEOPLE_PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${hash(CELLS_PROOF)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
    redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch((fault: unknown) => {
    cells.places.rest(place)
    throw fault
  })
  if (!answer.ok) throw new Error(`it answers ${answer.status}`)
  return organisationsOf.parse(parseJson(await answer.text())).organisations
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
