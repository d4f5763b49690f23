/** What the addresses of all forms have in common: who may see a batch, and what a new one is made of. */

import type { Assets } from '../../assets/assets.ts'
import { usdNumber } from '../../core/money.ts'
import { invalid, must, refuse, unavailable } from '../../core/refusal.ts'
import { newId } from '../../core/time.ts'
import { chargedTold, shownBatchId } from '../../gateway/batches/batch-summary.ts'
import { mayKeep } from '../../gateway/enter/conditions.ts'
import { readIdempotencyKey } from '../../gateway/enter/once-only.ts'
import { takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { paymentMode } from '../../payment/funding.ts'
import type { Batch, BatchForm } from '../../store/batches/batch-port.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { tellsNothing } from '../../tenancy/terms.ts'
import type { HttpCall } from '../route/route.ts'

/** A batch that was made in this form, by the key or a key below it. */
export const batchNamed = async (
  { store }: Gateway,
  key: Key,
  it: { readonly form: BatchForm; readonly id: string | undefined },
): Promise<Batch> => {
  const batch = it.id === undefined ? undefined : await store.batches.batchFor(it.id, key.id)
  if (batch === undefined || batch.form !== it.form)
    throw refuse(
      'not_found',
      'There is no batch of this id, it was made in another form of API, it is not yours, or it is no longer kept (BATCH_DAYS).',
    )
  return batch
}

type Page = Parameters<Gateway['store']['batches']['list']>[1]

/**
 * A page of batches. Throws the refusal, by the parameter's name, of a page after a batch that is gone: nobody knows where it
 * stood, and no batches would say that there are no others.
 */
export const listedAfter = async (
  { store: { batches } }: Gateway,
  key: Key,
  name: string,
  page: Page,
): Promise<readonly Batch[]> => {
  const found = await batches.list(key.id, page)
  const { after } = page
  if (found.length > 0 || after === undefined || (await batches.batchFor(after, key.id)) !== undefined)
    return found
  throw invalid(name, `'${name}' names a batch that is not here any more: begin the list again.`)
}

/** Cancels a batch: lines that were sent end, others never are. One that has ended stays as it is. */
export const cancelNamed = async (gateway: Gateway, key: Key, batch: Batch): Promise<Batch> => {
  const actor = { kind: 'key', id: key.id, name: key.label } as const
  await gateway.store.batches.cancel(batch.id, { actor, subject: shownBatchId(batch) })
  return (await gateway.store.batches.batchFor(batch.id, key.id)) ?? batch
}

/** Under an Idempotency-Key a repeat finds the batch that the first request made, also under the secret before. */
const idUnder = async ({ hash, store }: Gateway, key: Key, name: string): Promise<string> => {
  const text = `batch ${placeOf(key)} ${name}`
  const before = hash.before?.(text).slice(0, 32)
  const made = before === undefined ? undefined : await store.batches.batchFor(before, key.id)
  return made?.id ?? hash(text).slice(0, 32)
}

/** What a new batch takes from the headers of its request. */
export const headersOf = async (gateway: Gateway, { request: { headers }, trace }: HttpCall, key: Key) => {
  await mayKeep(gateway, key, { param: 'batch', what: 'What a batch is made of' })
  takePlace(gateway.capacity, trace.taken)
  const mode = must(paymentMode(headers.get('x-payment-protocol') ?? undefined, undefined))
  if (mode === 'x402')
    throw invalid('X-Payment-Protocol', 'A batch cannot be paid by x402: pay from a wallet.')
  const named = headers.get('idempotency-key')
  const sub = headers.get('x-sub-wallet')
  const id =
    named === null
      ? gateway.hash(`batch ${newId()}`).slice(0, 32)
      : await idUnder(gateway, key, must(readIdempotencyKey(named)))
  // What the header asks for counts for the lines too, which are run later.
  const requires = key.requires === undefined ? {} : { requires: key.requires }
  return { id, asked: { mode, ...requires }, sub: sub ?? undefined }
}

export const assetsOf = ({ assets }: Gateway): Assets => {
  if (assets === undefined) throw unavailable('Files cannot be kept here, so there are no batches.')
  return assets
}

/** What a batch was charged so far, as the key that asks is told it. */
export const costShown = (batch: Batch, { terms }: Key) =>
  tellsNothing(terms) ? {} : { cost_usd: usdNumber(chargedTold(batch, terms)) }

const LIST_USUAL = 20

/** How many batches a list has. */
export const limitOf = (
  text: string | undefined,
  { name = 'limit', most }: { readonly name?: string; readonly most: number },
): number => {
  const limit = Number(text ?? LIST_USUAL)
  if (!Number.isInteger(limit) || limit < 1) throw invalid(name, `'${name}' must be 1 to ${most}.`)
  return Math.min(limit, most)
}
