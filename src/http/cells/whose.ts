/**
 * Which cell a request is for: what its credential says; without one, the host, for trials the caller's address, and for
 * payments the cell that takes them.
 */
import { cellOf } from '../../cells/cell-of.ts'
import type { Cell, Directory } from '../../cells/directory.ts'
import { type AddressBlock, callerAddress, originOf } from '../../core/address.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { splitUrl } from '../route/router.ts'

/** Where a trial is claimed: the caller has no key yet, and may have one trial in all cells together. */
const TRIALS = '/api/try/anonymous-wallet'
/** How browsers, which send no headers with a socket, send a key. */
const OF_PROTOCOL = /(?:^|,)\s*(?:turnpike\.key|openai-insecure-api-key)\.([^,\s]+)/g

const BEARER = /^\s*bearer +(\S+)\s*$/i
const credentials = ['authorization', 'x-api-key', 'x-goog-api-key'] as const

/** What a payment or a payer's signature comes in; one in `Authorization` is no key. */
const ofPayers = ['payment-signature', 'x-payment', 'sign-in-with-x'] as const
const PAYMENT = /^\s*payment /i
/** Where a call may be paid for without a key. */
const PAYABLE =
  /^\/(?:v1|v1beta|v1beta1|v2|mcp)(?:\/|$)|^\/api\/(?:chat|generate|embed|embeddings|idempotent-run)$/
/** Where people and their agents sign in. */
const OF_PEOPLE = /^\/(?:console|oauth)(?:\/|$)/

type Named = { readonly cells: ReadonlySet<string>; readonly hasKey: boolean }

/** The cells that the credentials of a request name. A header of one that is repeated is refused. */
const namedIn = (headers: Headers, query: string): Named | Refusal => {
  const named = new Set<string>()
  let hasKey = false
  const note = (token: string | undefined): void => {
    hasKey ||= token !== undefined
    const cell = token === undefined ? undefined : cellOf(token)
    if (cell !== undefined) named.add(cell)
  }
  for (const name of credentials) {
    const value = headers.get(name)
    if (value === null) continue
    // The runtime joins repeated ones.
    if (value.includes(',')) return invalid(name, `The header '${name}' may be sent once.`)
    note(name === 'authorization' ? BEARER.exec(value)?.[1] : value)
  }
  if (query.includes('key=')) for (const key of new URLSearchParams(query).getAll('key')) note(key)
  const protocols = headers.get('sec-websocket-protocol')
  if (protocols !== null) for (const [, key] of protocols.matchAll(OF_PROTOCOL)) note(key)
  return { cells: named, hasKey }
}

type Asking = {
  readonly peer: string | undefined
  /** Whose X-Forwarded-For tells a caller's address. */
  readonly trusted: readonly AddressBlock[]
}

/**
 * The cell for the request. A request whose credentials name two cells, or one of whose is repeated, goes nowhere.
 */
export const whose = (request: Request, directory: Directory, asking: Asking): Cell | Refusal => {
  const { path, query } = splitUrl(request.url)
  const named = namedIn(request.headers, query)
  if (named instanceof Refusal) return named
  const [name, other] = named.cells
  if (other !== undefined)
    return invalid('authorization', 'The request carries keys of two cells; send one of them.')
  if (name !== undefined) return directory.cells.get(name) ?? noSuchCell(name)
  if (path === TRIALS) return byAddress(directory, request, asking)
  const payments = named.hasKey ? undefined : directory.payments
  if (payments !== undefined && pays(request, path)) return payments
  const host = request.headers.get('host')?.toLowerCase()
  for (const cell of directory.cells.values()) if (cell.host !== undefined && cell.host === host) return cell
  return payments !== undefined && !OF_PEOPLE.test(path) ? payments : directory.first
}

/** Whether a request without a key brings a payment, or may be told what to pay. */
const pays = ({ method, headers }: Request, path: string): boolean =>
  (method === 'POST' && PAYABLE.test(path)) ||
  ofPayers.some((name) => headers.has(name)) ||
  PAYMENT.test(headers.get('authorization') ?? '')

const noSuchCell = (name: string): Refusal =>
  refuse('invalid_api_key', `The API key names the cell '${name}', and there is no such cell here.`, {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })

/** The same cell each time for one address; a cell that comes or goes moves only the addresses that are its own. */
const byAddress = ({ cells, first }: Directory, request: Request, { peer, trusted }: Asking): Cell => {
  const address = callerAddress(peer, request.headers.get('x-forwarded-for'), trusted)
  const origin = address === undefined ? '' : originOf(address)
  let best = { cell: first, rank: -1n }
  for (const cell of cells.values()) {
    const rank = Bun.hash.wyhash(`${cell.name} ${origin}`)
    if (rank > best.rank) best = { cell, rank }
  }
  return best.cell
}
