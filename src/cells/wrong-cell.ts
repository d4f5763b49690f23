/** A credential of another cell: refused by its text alone, or passed on to that cell. */
import { elsewhere } from '../admission/caller.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import { CELL_HEADER } from '../settings/cells.ts'
import { cellOf } from './cell-of.ts'
import type { Directory } from './directory.ts'
import { PASSED_BY, type Passing, pass } from './pass.ts'
import type { Places } from './places.ts'

/** The 421 that names the cell. Whoever knows where that is sends the request there. */
const wrongCell = (cell: string): Refusal =>
  refuse('wrong_cell', `The key belongs to the cell '${cell}': send the request there.`, {
    members: { cell },
    headers: { [CELL_HEADER]: cell },
  })

/** Hashes of credentials whose organisation has come here, as the cell that they name has said. */
const come = new Set<number | bigint>()
const COME_MAX = 100_000
/** By the headers of a request that was refused: the hash of its credential. */
const refused = new WeakMap<object, number | bigint>()

/**
 * Throws that refusal for a credential with another cell's name, before anybody looks it up. What a cell has passed on is
 * looked up: an organisation that moved keeps its keys. So is one that the cell which it names has sent back once.
 */
export const checkCell = (own: string, token: string, headers?: Pick<Headers, 'get'>): void => {
  const cell = cellOf(token)
  if (cell === undefined || cell === own || headers?.get(PASSED_BY)) return
  const hash = Bun.hash(token)
  if (come.has(hash)) return
  if (headers !== undefined) refused.set(headers, hash)
  throw wrongCell(cell)
}

export type OtherCells = {
  /** The name of this cell. */
  readonly own: string
  readonly directory: { readonly now: () => Directory }
  readonly places: Places
}

/**
 * The answer of the other cell in place of a 421 that names it; undefined for all that stay here, and for what that cell has
 * passed on already. Throws the Refusal if no gateway of that cell takes it, or if the organisation has come here while that
 * one waited, such as for its ledger.
 */
export const passedOn = (
  { own, directory, places }: OtherCells,
  {
    request,
    answer,
    peer,
  }: { readonly request: Request; readonly answer: Response; readonly peer: string | undefined },
): Promise<Response> | undefined => {
  const name = cellNamedBy(answer)
  const by = [...(request.headers.get(PASSED_BY)?.split(/, */) ?? []), own]
  if (name === null || request.bodyUsed || by.includes(name)) return undefined
  const cell = directory.now().cells.get(name)
  return cell === undefined ? undefined : passTo(request, { cell, places, peer, by: by.join(', ') }, own)
}

const cellNamedBy = ({ status, headers }: Response): string | null =>
  status === 421 ? headers.get(CELL_HEADER) : null

const passTo = async (request: Request, passing: Passing, own: string): Promise<Response> => {
  const answer = await pass(request, passing)
  if (cellNamedBy(answer) !== own) return answer
  const hash = refused.get(request.headers)
  if (come.size >= COME_MAX) come.clear()
  // Its body is gone with the request: its caller sends it again.
  if (hash !== undefined) come.add(hash)
  await answer.body?.cancel()
  throw elsewhere({ leaving: true, cell: own })
}
