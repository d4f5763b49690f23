/** A batch that has begun and that nobody runs, as a face would show it. */
import type { BatchForm } from '../../src/store/batches/batch-port.ts'
import type { Store } from '../../src/store/port.ts'

type Begins = {
  readonly keyId: string
  readonly wallet: string
  readonly form?: BatchForm
  readonly lines?: number
}

/** Its id, as callers of its form know it. */
export const begunBatch = async (
  { batches }: Store,
  { keyId, wallet, form = 'openai', lines = 1 }: Begins,
): Promise<string> => {
  const id = crypto.randomUUID().replaceAll('-', '')
  await batches.open(
    {
      ...{ id, form, keyId, walletId: wallet, payer: wallet, onCap: 'refuse', input: 'input' },
      asked: { endpoint: '/v1/chat/completions', mode: 'wallet' },
      ...{ owner: 'nobody', ownerMs: 9e8, lifeMs: 9e8 },
    },
    9,
  )
  const line = { bytes: 1, bound: 5n, route: '' }
  const all = Array.from({ length: lines }, (_, n) => ({ ...line, n, customId: `${n}`, at: n }))
  await batches.addLines(id, 'nobody', all)
  const { outcome } = await batches.begin(id, 'nobody')
  if (outcome !== 'begun') throw new Error(`the batch is ${outcome}`)
  return `${form === 'openai' ? 'batch_' : 'msgbatch_'}${id}`
}
