/** Webhooks that a secret of their wallet or channel signs (standardwebhooks.com). */
import type { Meters } from '../../metrics/meters.ts'
import type { PublicParts } from '../../transport/public-address.ts'
import { sendWebhook } from '../../transport/webhook.ts'
import type { Gateway } from '../parts/gateway.ts'

type Sending = {
  readonly hash: Gateway['hash']
  readonly webhooks: PublicParts
  readonly meters?: Meters | undefined
}

/** The secret that signs a wallet's webhooks; derived, so that nothing has to be stored. */
export const webhookSecret = ({ hash }: Pick<Gateway, 'hash'>, walletId: string): string =>
  `whsec_${Buffer.from(hash(`webhook ${walletId}`), 'hex').toString('base64')}`

type SignedBody = {
  readonly walletId: string
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: string
  readonly body: string
}

/** Sends a webhook of a wallet once, and counts what came of it; rejects unless its receiver accepts. */
export const sendSigned = async (
  { hash, webhooks, meters }: Sending,
  { kind, url, ...signed }: SignedBody & { readonly kind: 'alert' | 'job' | 'batch'; readonly url: string },
): Promise<void> => {
  try {
    await sendWebhook(webhooks, { url, headers: signedHeaders({ hash }, signed), body: signed.body })
    meters?.webhookSent(kind, true)
  } catch (error) {
    meters?.webhookSent(kind, false)
    throw error
  }
}

/** The headers that prove a webhook of a wallet. Source: standardwebhooks.com. */
export const signedHeaders = (
  { hash }: Pick<Gateway, 'hash'>,
  { walletId, id, timestamp, body }: SignedBody,
): Record<string, string> => {
  const signatureUnder = (one: Gateway['hash']): string => {
    const key = Buffer.from(webhookSecret({ hash: one }, walletId).slice('whsec_'.length), 'base64')
    return `v1,${new Bun.CryptoHasher('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  }
  // While the secret changes there are two, and a receiver knows one of them.
  const all = [hash, ...(hash.before === undefined ? [] : [hash.before])].map(signatureUnder)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': all.join(' ') }
}
