/** Acts on receipts: a call's receipt again, the check of one that somebody brings, and the keys that sign them. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { isObject, parseJson } from '../../core/json-body.ts'
import { must, Refusal, refuse } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import { issueReceipt, receiptKeysOf } from '../../gateway/parts/receipt.ts'
import { addReceiptKey, PUBLISHED_FIRST_MS } from '../../gateway/parts/receipt-keys.ts'
import { begunAt, RECEIPT_LIFE_SECONDS } from '../../receipts/claims.ts'
import { verifyReceipt } from '../../receipts/token.ts'
import type { StoredReceiptKey } from '../../store/calls/receipt-port.ts'
import { termsIn } from '../../tenancy/terms.ts'
import { act } from '../act.ts'
import { keyNamed } from '../key-named.ts'
import { flag, isoOf, name } from '../read.ts'
import { done, time } from '../shown-key.ts'
import { checkWholeHouse } from '../who.ts'

const claims = z.looseObject({}).describe('docs/receipts.md')

const noReceipt = () =>
  refuse(
    'not_found',
    'There is no receipt under this request id: the call is still open, was not charged, is older than 90 days, or is not yours.',
  )

const claimsIn = (receipt: string) => {
  const read = parseJson(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
  return isObject(read) ? read : {}
}

export const callReceipt = act({
  name: 'call.receipt',
  summary: 'The receipt of a call by its request id; kept 90 days.',
  reads: ['read', 'read_own'],
  input: { call: name },
  shows: namedObject('Receipt', { receipt: z.string().describe('A JWT of type receipt+jwt'), claims }),
  does: async (acting, { call }) => {
    const { receipts, store, clock } = acting.control
    const charged = receipts === undefined ? undefined : await store.receipts.chargedCall(call)
    if (receipts === undefined || charged === undefined) throw noReceipt()
    if (charged.at + RECEIPT_LIFE_SECONDS * 1000 < clock.now()) throw noReceipt()
    await keyNamed(acting, charged.keyId, 'read').catch((fault: unknown) => {
      throw fault instanceof Refusal ? noReceipt() : fault
    })
    // A call has no receipt if its record was deleted or it was charged while receipts were off.
    if (charged.posted !== 'recovered' && charged.detail?.receipt === undefined) throw noReceipt()
    const { reach } = acting.who
    const terms = reach.of === 'key' ? reach.key.terms : undefined
    const its = terms && termsIn(terms, charged.month ?? monthOf(begunAt(charged)))
    const receipt = must(issueReceipt(receipts, charged, its) ?? noReceipt())
    return { receipt, claims: claimsIn(receipt) }
  },
})

export const receiptCheck = act({
  name: 'receipt.check',
  summary: 'Whether this server signed a receipt and it is still valid.',
  reads: ['read', 'read_own'],
  input: { receipt: z.string().min(1) },
  shows: namedObject('ReceiptVerdict', {
    valid: z.boolean(),
    error: z.enum(['malformed_jwt', 'signature_mismatch', 'expired']).optional(),
    claims: claims.optional(),
    kid: z.string().optional(),
    usable_for_disputes: z.literal(false).optional(),
  }),
  does: async ({ control }, { receipt }) => {
    const keys = await receiptKeysOf(control)
    if (keys.size === 0) throw refuse('not_found', 'This server issues no receipts (RECEIPTS=off).')
    const { issuers } = control.receipts ?? {}
    const verdict = verifyReceipt(receipt, { keys, issuers }, control.clock.now())
    return !verdict.valid && verdict.error === 'expired'
      ? { ...verdict, usable_for_disputes: false as const }
      : verdict
  },
})

const keyShown = namedObject('ReceiptKey', { kid: z.string(), signs_from: time, made_at: time })

const shown = ({ kid, signsFrom, createdAt }: StoredReceiptKey) => ({
  kid,
  signs_from: isoOf(signsFrom),
  made_at: isoOf(createdAt),
})

export const receiptKeyList = act({
  name: 'receipt_key.list',
  summary: 'The keys of receipts, oldest first; the last one whose time has come signs.',
  reads: ['system'],
  input: {},
  shows: namedObject('ReceiptKeyList', { data: z.array(keyShown) }),
  does: async ({ control }) => ({ data: (await control.store.receipts.receiptKeys()).map(shown) }),
})

export const receiptKeyRotate = act({
  name: 'receipt_key.rotate',
  summary: 'Adds a key: it is published at once and signs in ten minutes; older ones stay published.',
  changes: ['system'],
  input: { now: flag().describe('It signs at once') },
  shows: keyShown,
  does: async (acting, { now = false }) => {
    checkWholeHouse(acting.who)
    const { control, who } = acting
    const parts = { store: control.store.receipts, hash: control.hash }
    return shown(await addReceiptKey(parts, now ? 0 : PUBLISHED_FIRST_MS, who.actor))
  },
})

export const receiptKeyRevoke = act({
  name: 'receipt_key.revoke',
  summary: 'Removes a key that may have leaked; what it signed is no longer valid.',
  changes: ['system'],
  input: { kid: name },
  shows: done,
  does: async (acting, { kid }) => {
    checkWholeHouse(acting.who)
    const { control, who } = acting
    must(
      (await control.store.receipts.removeReceiptKey(kid, who.actor)) ||
        refuse('not_found', `there is no receipt key '${kid}'; 'turnpike receipt keys' shows them`),
    )
    return { done: true as const }
  },
})
