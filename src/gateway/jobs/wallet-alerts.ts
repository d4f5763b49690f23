/**
 * Alerts of wallets that run low or wait for their owner: read from the store when due, and sent as signed webhooks
 * (standardwebhooks.com).
 */
import type { Log } from '../../core/log.ts'
import { usdNumber } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Meters } from '../../metrics/meters.ts'
import type { AlertStore, WalletAlert } from '../../store/accounts/wallet-rules-port.ts'
import type { PublicParts } from '../../transport/public-address.ts'
import { sendWebhook } from '../../transport/webhook.ts'
import type { Gateway } from '../parts/gateway.ts'

type AlertParts = {
  readonly store: AlertStore
  readonly clock: Clock
  readonly log: Log
  readonly hash: Gateway['hash']
  readonly webhooks: PublicParts
  readonly meters?: Meters | undefined
}

const EVERY_MS = 5_000

/** The secret that signs a wallet's webhooks; derived, so that nothing has to be stored. */
export const webhookSecret = ({ hash }: Pick<Gateway, 'hash'>, walletId: string): string =>
  `whsec_${Buffer.from(hash(`webhook ${walletId}`), 'hex').toString('base64')}`

/** How many may be under way, of either kind: their receivers may be silent for ten seconds, and others wait behind them. */
const AT_ONCE = 100

/**
 * Begins to send what is due, at most as many of either kind; failures are tried again later. Each promise tells whether the receiver
 * accepted.
 */
export const sendAlerts = async (parts: AlertParts, most = AT_ONCE): Promise<readonly Promise<boolean>[]> =>
  (await parts.store.takeAlerts(most)).map((alert) => isAccepted(parts, alert))

const isAccepted = async (parts: AlertParts, alert: WalletAlert): Promise<boolean> => {
  try {
    await send(parts, alert)
    await parts.store.alertSent(alert)
    return true
  } catch (error) {
    parts.log.warn('an alert was not accepted', { kind: alert.event, error: String(error) })
    return false
  }
}

const send = (parts: AlertParts, alert: WalletAlert): Promise<void> => {
  const { clock } = parts
  const timestamp = String(Math.floor(clock.now() / 1000))
  const body = JSON.stringify({
    type: alert.event,
    timestamp: new Date(clock.now()).toISOString(),
    data: {
      wallet_id: alert.walletId,
      balance_usd: usdNumber(alert.balance),
      ...(alert.event === 'wallet.below'
        ? { alert_below_usd: usdNumber(alert.below) }
        : { reason: alert.reason }),
    },
  })
  return sendSigned(parts, {
    kind: 'alert',
    url: alert.url,
    walletId: alert.walletId,
    id: alert.id,
    timestamp,
    body,
  })
}

type SignedBody = {
  readonly walletId: string
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: string
  readonly body: string
}

/** Sends a webhook of a wallet once, and counts what came of it; rejects unless its receiver accepts. */
export const sendSigned = async (
  { hash, webhooks, meters }: Pick<AlertParts, 'hash' | 'webhooks' | 'meters'>,
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

/** Looks for due alerts until it is stopped. Nobody waits for a receiver that does not answer. */
export const keepAlerting = (parts: AlertParts, random: () => number): (() => void) => {
  let stopped = false
  let underWay = 0
  const begin = async (): Promise<void> => {
    for (const alert of await sendAlerts(parts, Math.max(0, AT_ONCE - underWay))) {
      underWay++
      void alert.finally(() => {
        underWay--
      })
    }
  }
  const look = async (): Promise<void> => {
    while (!stopped) {
      await parts.clock.sleep(EVERY_MS * (0.5 + random()))
      if (stopped) return
      await begin().catch((error: unknown) =>
        parts.log.warn('due alerts could not be read', { error: String(error) }),
      )
    }
  }
  void look()
  return () => {
    stopped = true
  }
}
