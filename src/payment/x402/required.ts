/**
 * The 402 of a quote, for both versions of the protocol in one answer: version 2 reads the header, version 1 the body.
 * Source: the x402 specifications, HTTP transport, versions 1 and 2.
 */
import { decimalFromNano } from '../../core/money.ts'
import { nanoOfUnits, type Offer } from './offer.ts'
import type { Quote } from './quote.ts'
import type { ChannelTerms } from './voucher.ts'

/** What else a payer needs to authorise a payment: who may settle it, and how long that may take. */
export type UptoTerms = { readonly facilitator: string; readonly seconds: number }

/** What else a payer needs to sign a voucher; `stands` corrects one who lost count. */
export type VoucherTerms = ChannelTerms & { readonly seconds: number; readonly stands?: object | undefined }

type Quoted = {
  readonly offer: Offer
  readonly quote: Quote
  readonly upto: UptoTerms | undefined
  readonly voucher: VoucherTerms | undefined
}

export type Resource = { readonly url: string; readonly description: string }

type Required = {
  readonly quoted: readonly [Quoted, ...Quoted[]]
  readonly resource: Resource
  readonly timeoutSeconds: number
  /** Why there is a 402: `payment_required`, or what was wrong with the payment. */
  readonly error: string
  /** The output bound that was quoted in place of the model's own. */
  readonly outputTokens: number | undefined
  /** What becomes of money that is left over. */
  readonly change: ChangePolicy
}

type Message = { readonly headers: Readonly<Record<string, string>>; readonly body: object }

const MIME = 'application/json'

const CHANGE_POLICY = {
  invoice: "The invoice takes what it comes to; anything beyond is credited to the key's wallet.",
  bearer: "What the call does not use is credited to the key's wallet.",
  none: 'What the call does not use is credited once to the wallet of whoever sends the X-Change-Claim of the answer, or its receipt, to POST /api/wallet/claim.',
}

/** Most who read a 402 without a key have only forgotten it. */
const OR_A_KEY =
  'Send an API key (Authorization: Bearer <key>), or pay for this call alone by x402: the quote is in PAYMENT-REQUIRED.'

export type ChangePolicy = keyof typeof CHANGE_POLICY

const encodeHeader = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

const extraOf = ({ name, version }: Offer) => ({ name, version })

/** What version 2 asks for; `upfront` says that the payment is settled before the model runs. */
export const requirementsV2 = (
  offer: Offer,
  units: string,
  quoteId: string | undefined,
  seconds: number,
) => ({
  scheme: 'exact',
  network: offer.network,
  amount: units,
  asset: offer.asset,
  payTo: offer.payTo,
  maxTimeoutSeconds: seconds,
  extra: { ...extraOf(offer), paymentFlow: 'upfront', ...(quoteId === undefined ? {} : { quoteId }) },
})

/** What version 2 asks for when the payment is settled after the call, for what the call was charged. */
export const requirementsUpto = (
  offer: Offer,
  units: string,
  quoteId: string | undefined,
  { facilitator, seconds }: UptoTerms,
) => ({
  scheme: 'upto',
  network: offer.network,
  amount: units,
  asset: offer.asset,
  payTo: offer.payTo,
  maxTimeoutSeconds: seconds,
  extra: {
    ...extraOf(offer),
    assetTransferMethod: 'permit2',
    facilitatorAddress: facilitator,
    ...(quoteId === undefined ? {} : { quoteId }),
  },
})

/** What version 2 asks of a payer with a deposit: a voucher for the most that the call can cost. */
export const requirementsVoucher = (
  offer: Offer,
  units: string,
  quoteId: string | undefined,
  { authorizer, withdrawSeconds, seconds, stands }: VoucherTerms,
) => ({
  scheme: 'batch-settlement',
  network: offer.network,
  amount: units,
  asset: offer.asset,
  payTo: offer.payTo,
  maxTimeoutSeconds: seconds,
  extra: {
    ...extraOf(offer),
    receiverAuthorizer: authorizer,
    withdrawDelay: withdrawSeconds,
    ...stands,
    ...(quoteId === undefined ? {} : { quoteId }),
  },
})

/** What version 1 asks for. Its strict clients know only these members, and no null. */
export const requirementsV1 = (offer: Offer, units: string, resource: Resource, seconds: number) => ({
  scheme: 'exact',
  network: offer.v1Network ?? offer.network,
  maxAmountRequired: units,
  resource: resource.url,
  description: resource.description,
  mimeType: MIME,
  payTo: offer.payTo,
  maxTimeoutSeconds: seconds,
  asset: offer.asset,
  extra: extraOf(offer),
})

export const paymentRequired = (it: Required): Message => {
  const { resource, timeoutSeconds, error } = it
  const [first] = it.quoted
  const v2 = {
    x402Version: 2,
    error,
    resource: { ...resource, mimeType: MIME },
    // Clients take the first one they know, so this comes first: it pays for no more than was used.
    accepts: it.quoted.flatMap(({ offer, quote, upto, voucher }) => [
      ...(voucher === undefined ? [] : [requirementsVoucher(offer, quote.units, quote.id, voucher)]),
      ...(upto === undefined ? [] : [requirementsUpto(offer, quote.units, quote.id, upto)]),
      requirementsV2(offer, quote.units, quote.id, timeoutSeconds),
    ]),
    extensions: {},
  }
  const v1 = it.quoted
    .filter(({ offer }) => offer.v1Network !== undefined)
    .map(({ offer, quote }) => requirementsV1(offer, quote.units, resource, timeoutSeconds))
  return {
    headers: {
      'content-type': MIME,
      'cache-control': 'private, no-store',
      'payment-required': encodeHeader(v2),
      'access-control-expose-headers':
        'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Change-Claim',
    },
    body: {
      ...(v1.length === 0 ? {} : { x402Version: 1 }),
      error,
      ...(it.change === 'none' ? { message: OR_A_KEY } : {}),
      ...(v1.length === 0 ? {} : { accepts: v1 }),
      quote: {
        protocol: 'x402',
        quote_id: first.quote.id,
        amount_usd: decimalFromNano(nanoOfUnits(first.offer, first.quote.units)),
        currency: first.offer.name,
        upper_bound: it.change !== 'invoice',
        ...(it.outputTokens === undefined ? {} : { max_output_tokens: it.outputTokens }),
        expires_at: new Date(first.quote.expiresAt).toISOString(),
        change_policy: CHANGE_POLICY[it.change],
      },
    },
  }
}

type RequiredOutcome = {
  readonly version: 1 | 2
  readonly offer: Offer
  readonly payer: string
} & (
  | { readonly success: true; readonly transaction: string; readonly units?: string; readonly extra?: object }
  | { readonly success: false; readonly errorReason: string }
)

/** The headers that report how a payment went, under both versions' names. */
export const outcomeHeaders = (outcome: RequiredOutcome): Record<string, string> => {
  const { version, offer, payer } = outcome
  const value = encodeHeader({
    success: outcome.success,
    ...(outcome.success
      ? {
          transaction: outcome.transaction,
          ...(outcome.units === undefined ? {} : { amount: outcome.units }),
          ...(outcome.extra === undefined ? {} : { extra: outcome.extra }),
        }
      : { errorReason: outcome.errorReason, transaction: '' }),
    network: version === 1 ? (offer.v1Network ?? offer.network) : offer.network,
    payer,
  })
  return { 'payment-response': value, 'x-payment-response': value }
}
