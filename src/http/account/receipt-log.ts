/** The log of receipts, as anyone reads it who keeps its ends and checks receipts against them; docs/receipt-log.md. */
import { invalid, must, refuse } from '../../core/refusal.ts'
import { consistencyOf, inclusionOf, logEnd } from '../../gateway/log-proof.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { receiptKeysOf } from '../../gateway/parts/receipt.ts'
import { LOG_PROMISE_SECONDS } from '../../receipts/log-head.ts'
import { TILE } from '../../receipts/merkle.ts'
import { verifyReceipt } from '../../receipts/token.ts'
import { json } from '../answer/reply.ts'
import { originOfCall } from '../request/origin.ts'
import { readQuery } from '../request/query.ts'
import { at, type Handler, type HttpCall, type Route } from '../route/route.ts'
import { logConsistency, logHead, logProof, logTile } from '../schema/receipts.ts'

/** Each is some reads of the database, and whoever asks needs no key: they count by address, as other guests do. */
const ofGuests =
  (handler: Handler): Handler =>
  (gateway, call) => {
    takeGuestTurn(gateway, 'log', originOfCall(gateway, call), call.trace)
    return handler(gateway, call)
  }

/** What never changes may be kept by whoever passes it on. */
const kept = (answer: Answer): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'cache-control': 'public, max-age=31536000, immutable' },
})

const numberIn = (query: ReadonlyMap<string, string>, name: string): number => {
  const text = query.get(name) ?? ''
  if (!/^\d{1,15}$/.test(text)) throw invalid(name, `'${name}' must be a whole number.`)
  return Number(text)
}

const getHead = async (gateway: Gateway): Promise<Answer> => {
  const { size, root, at, token } = await logEnd(gateway.store.log)
  return json({
    size,
    root: Buffer.from(root).toString('hex'),
    signed_at: new Date(at).toISOString(),
    promise_seconds: LOG_PROMISE_SECONDS,
    head: token,
  })
}

const notYet = () =>
  refuse(
    'not_found',
    'The call is not in the log: it was charged minutes ago, before the log began, or it is not in the log of that size.',
  )

/** The claims of a receipt of ours, whatever its age. Only its holder gets the salt, with which its entry could be guessed. */
const claimsOf = async (gateway: Gateway, receipt: string) => {
  const keys = await receiptKeysOf(gateway)
  const verdict = verifyReceipt(receipt, { keys, issuers: undefined }, gateway.clock.now())
  if (!('claims' in verdict))
    throw invalid('receipt', "'receipt' must be a receipt that this server has signed.")
  const { cost, request_id } = verdict.claims
  if (cost instanceof Object && 'priced_by' in cost)
    throw invalid(
      'receipt',
      "'receipt' is at the price of a reseller; the reseller's own of the same call is in the log.",
    )
  return String(request_id)
}

const getProof = async (gateway: Gateway, { query }: HttpCall): Promise<Answer> => {
  const given = must(readQuery(query, ['receipt', 'size']))
  const call = await claimsOf(gateway, given.get('receipt') ?? '')
  const charged = await gateway.store.receipts.chargedCall(call)
  if (charged === undefined) throw notYet()
  const size = given.has('size') ? numberIn(given, 'size') : undefined
  const found = await inclusionOf(gateway.store.log, { name: call, postedAt: charged.at, size })
  return json(must(found ?? notYet()))
}

const getConsistency = async (gateway: Gateway, { query }: HttpCall): Promise<Answer> => {
  const given = must(readQuery(query, ['from', 'to']))
  const [from, to] = [numberIn(given, 'from'), numberIn(given, 'to')]
  const { size } = await logEnd(gateway.store.log)
  if (from > to || to > size) throw invalid('to', `'to' must be from 'from' to the size of the log, ${size}.`)
  return kept(json({ from, to, proof: await consistencyOf(gateway.store.log, from, to) }))
}

const getTile = async (gateway: Gateway, { query }: HttpCall): Promise<Answer> => {
  const given = must(readQuery(query, ['level', 'n']))
  const id = { level: numberIn(given, 'level'), n: numberIn(given, 'n') }
  const [hashes] = (await gateway.store.log.tiles([id])).values()
  if (hashes === undefined) throw refuse('not_found', 'The log has no such tile.')
  const list = Buffer.from(hashes).toString('hex').match(/.{64}/g) ?? []
  const answer = json({ ...id, hashes: list })
  return list.length === TILE ? kept(answer) : answer
}

export const receiptLogRoutes: readonly Route[] = [
  {
    ...at('GET /v1/log/head'),
    summary: 'The signed end of the log of receipts.',
    auth: 'none',
    answer: logHead,
    handler: ofGuests(getHead),
  },
  {
    ...at('GET /v1/log/proof'),
    summary: 'The proof that a receipt is in the log of that size, or as it ends now.',
    auth: 'none',
    query: ['receipt', 'size'],
    answer: logProof,
    handler: ofGuests(getProof),
  },
  {
    ...at('GET /v1/log/consistency'),
    summary: 'The proof that the log of one size is the beginning of the log of another.',
    auth: 'none',
    query: ['from', 'to'],
    answer: logConsistency,
    handler: ofGuests(getConsistency),
  },
  {
    ...at('GET /v1/log/tile'),
    summary: 'Hashes of the log: 256 leaves, or on a higher level the roots of 256 tiles.',
    auth: 'none',
    query: ['level', 'n'],
    answer: logTile,
    handler: ofGuests(getTile),
  },
]
