/** What cells ask of each other: a gateway of the other cell is asked by one that shows that it has the same secret. */
import { type Json, parseJson } from '../core/json-body.ts'
import type { KeyedHash } from '../core/keyed-hash.ts'
import type { Cell } from './directory.ts'
import type { Places } from './places.ts'

/** What that secret hashes to show it. */
export const CELLS_PROOF = 'turnpike cells'

type Question = {
  readonly path: string
  /** Sent as JSON; without it the question is a GET. */
  readonly body?: object
  readonly patienceMs: number
}

/** The JSON that one gateway of the cell answers. Throws what is wrong with its answer, or with the way there. */
export const askCell = async (
  { places, hash }: { readonly places: Places; readonly hash: KeyedHash<string> },
  cell: Cell,
  { path, body, patienceMs }: Question,
): Promise<Json | undefined> => {
  const place = places.choose(cell)
  if (place === undefined) throw new Error('none of its gateways answers')
  const answer = await fetch(`${place.url}${path}`, {
    headers: { authorization: `Bearer ${hash(CELLS_PROOF)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(patienceMs),
  })
  const told = parseJson(await answer.text())
  if (answer.ok) return told
  throw new Error(`it answers ${answer.status}: both cells need the same TURNPIKE_SECRET and version`)
}
