/** Webhooks of ended batches: sent until the receiver takes them, and signed like those of jobs. */
import { warning } from '../../core/log.ts'
import { systemPublicParts } from '../../transport/public-address.ts'
import { sendSigned } from '../jobs/signed-webhook.ts'
import type { Gateway } from '../parts/gateway.ts'
import { summaryOf } from './batch-summary.ts'

const AT_ONCE = 20

/** Begins to send those that are due; a receiver that is away is tried again later. */
export const sendBatchWebhooks = async (gateway: Gateway): Promise<void> => {
  const { store, clock, log, webhooks = systemPublicParts } = gateway
  for (const batch of await store.batches.takeWebhooks(AT_ONCE)) {
    const { id, walletId, webhook: url = '' } = batch
    const data = summaryOf(batch, await gateway.book.termsOf(batch.keyId))
    const at = clock.now()
    const body = JSON.stringify({ type: `batch.${data.status}`, timestamp: new Date(at).toISOString(), data })
    const parts = { hash: gateway.hash, webhooks, meters: gateway.watch.meters }
    const signed = { walletId, id: `batch_${id}`, timestamp: String(Math.floor(at / 1000)), body }
    sendSigned(parts, { kind: 'batch', url, ...signed })
      .then(() => store.batches.webhookSent(id))
      .catch(warning(log, 'a webhook of a batch was not accepted', { call: id }))
  }
}
