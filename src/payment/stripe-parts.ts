/** The parts of payments by Stripe: the operator's settings, and the store. */
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Secret } from '../core/secret.ts'
import type { CheckoutStore } from '../store/funding/funding-port.ts'
import type { TopUpStore } from '../store/funding/top-up-port.ts'

export type StripeSettings = {
  readonly key: Secret
  /** Several while the secret is being changed. */
  readonly webhookSecrets: readonly Secret[]
  readonly baseUrl: string
  /** Where payers return to; without it they see the state of their checkout. */
  readonly returnUrl: string | undefined
  /** The most that one wallet is topped up automatically in a UTC day. */
  readonly topUpDailyMax: Nano
  /** The profile that payers without a key grant their shared payment tokens to; undefined if they cannot. */
  readonly networkId?: string | undefined
  readonly paymentMethodTypes?: readonly [string, ...string[]] | undefined
}

export type StripeParts = {
  readonly settings: StripeSettings
  readonly store: CheckoutStore & TopUpStore
  readonly log: Log
}
