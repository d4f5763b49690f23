/** Addresses that are of all cells together: the public keys of receipts, and the events of Stripe. */
import type { Cell, Directory } from '../../cells/directory.ts'
import { pass } from '../../cells/pass.ts'
import type { Places } from '../../cells/places.ts'
import { isObject, parseJson } from '../../core/json-body.ts'
import { refuse } from '../../core/refusal.ts'

/** An event of Stripe is far smaller. */
const EVENT_BYTES_MAX = 1_048_576
/** The status of a cell that knows the purchase of an organisation that is in another one. */
const MOVED = 421
/** A cell that takes longer to tell its keys is one that is away. */
const KEYS_MS = 2_000

type Passed = { readonly directory: Directory; readonly places: Places; readonly peer: string | undefined }

/** Answers what is for all cells; undefined for all other requests. */
export const newGathering = () => {
  /** The keys that each cell last told, so that receipts stay verifiable while it is away. */
  const known = new Map<string, readonly unknown[]>()
  const keysOf = async (
    request: Request,
    cell: Cell,
    { places, peer }: Passed,
  ): Promise<readonly unknown[]> => {
    try {
      const asked = new Request(request, { signal: AbortSignal.timeout(KEYS_MS) })
      const answer = await pass(asked, { cell, places, peer })
      const told = parseJson(await answer.text())
      if (answer.ok && isObject(told) && Array.isArray(told.keys)) known.set(cell.name, told.keys)
    } catch {
      // What it last told stands.
    }
    return known.get(cell.name) ?? []
  }
  return (path: string, request: Request, passed: Passed): Promise<Response> | undefined => {
    const cells = [...passed.directory.cells.values()]
    if (path === '/.well-known/jwks.json' && request.method === 'GET')
      return Promise.all(cells.map((cell) => keysOf(request, cell, passed))).then((all) =>
        Response.json({ keys: all.flat() }, { headers: { 'cache-control': 'public, max-age=300' } }),
      )
    if (path === '/api/webhooks/stripe' && request.method === 'POST') return toAll(request, cells, passed)
    return undefined
  }
}

/** The answer is the worst of all. Each cell gets it, and ignores what is another's. Stripe repeats it until all have taken it, which changes nothing twice. */
const toAll = async (
  request: Request,
  cells: readonly Cell[],
  { places, peer }: Passed,
): Promise<Response> => {
  if (Number(request.headers.get('content-length') ?? EVENT_BYTES_MAX + 1) > EVENT_BYTES_MAX)
    throw refuse('request_too_large', `An event has at most ${EVENT_BYTES_MAX} bytes and says how many.`)
  const body = await request.bytes()
  const { method, headers, signal, url } = request
  const ask = (to: readonly Cell[]) =>
    Promise.all(
      to.map((cell) => pass(new Request(url, { method, headers, signal, body }), { cell, places, peer })),
    )
  let answers = await ask(cells)
  const without = cells.filter((_, at) => answers[at]?.status !== MOVED)
  // What has left a cell may have come to another one since that was asked.
  if (without.length > 0 && without.length < cells.length) answers = await ask(without)
  const [first, ...others] = answers.sort((one, other) => other.status - one.status)
  for (const { body: unread } of others) void unread?.cancel()
  return first as Response
}
