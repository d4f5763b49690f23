/** Receipts in the console: a call's receipt again, and the check of a receipt that somebody brings. */
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'
import { refuse } from '../core/refusal.ts'
import { judgeReceipt, receiptOf } from '../gateway/check-receipt.ts'
import { type ConsoleRoute, type Here, type Reply, within } from './here.ts'
import { bodied } from './read.ts'
import { receiptBody, receiptShown, receiptVerdict } from './schema/wallet.ts'
import { scopeOf } from './usage.ts'

const claimsIn = (receipt: string): JsonObject => {
  const claims = parseJson(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
  return isObject(claims) ? claims : {}
}

const getReceipt = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const id = here.request.params.id ?? ''
  const [call] = await here.gateway.store.reports.calls({ ...scopeOf(here), id, most: 1 })
  if (call === undefined) throw refuse('not_found', 'There is no such call, or it is not yours.')
  const receipt = await receiptOf(here.gateway, id, (owner) => owner.id === call.keyId)
  return { value: { receipt, claims: claimsIn(receipt) } }
}

const checkReceipt = async (context: Here, { receipt }: { receipt: string }): Promise<Reply> => {
  const verdict = await judgeReceipt(context.gateway, receipt.trim())
  if (verdict === undefined) throw refuse('not_found', 'This server issues no receipts (RECEIPTS=off).')
  const claims = 'claims' in verdict ? verdict.claims : null
  return { value: { valid: verdict.valid, error: 'error' in verdict ? verdict.error : null, claims } }
}

export const receiptRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/calls/:id/receipt',
    summary: 'The receipt of a call.',
    audience: ['read', 'read_own'],
    answer: receiptShown,
    handler: getReceipt,
  },
  bodied({
    method: 'POST',
    path: '/receipts/check',
    summary: 'Whether this server signed a receipt and it is still valid.',
    audience: 'person',
    body: receiptBody,
    answer: receiptVerdict,
    handler: checkReceipt,
  }),
]
