/**
 * What x402 says of a quote and of a payment's outcome, in both versions: version 2 in headers, version 1 in the body.
 * Source: the x402 specifications, HTTP transport, versions 1 and 2.
 */
import type { Offer } from './offer.ts'
import type { Quote } from './quote.ts'
import type { ChannelTerms } from './voucher.ts'

/** What else a payer needs to authorise a payment: who may settle it, and how long that may take. */
export type UptoTerms = { readonly facilitator: string; readonly seconds: number }

/** What else a payer needs to sign a voucher; `stands` corrects one who lost count. */
export type VoucherTerms = ChannelTerms & { readonly seconds: number; readonly stands?: object | undefined }

export type Quoted = {
  readonly offer: Offer
  readonly quote: Quote
  readonly upto: UptoTerms | undefined
  readonly voucher: VoucherTerms | undefined
}

export type Resource = { readonly url: string; readonly description: string }

/** What both versions say of a quote. */
export type X402Quote = {
  readonly quoted: readonly Quoted[]
  readonly resource: Resource
  readonly timeoutSeconds: number
  readonly error: string
}

const MIME = 'application/json'

const encodeHeader = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

const extraOf = ({ name, version }: Offer) => ({ name, version })

/** What a payer signs by, in each scheme of version 2. */
const requirements = (
  scheme: string,
  offer: Offer,
  {
    units,
    quoteId,
    seconds,
  }: { readonly units: string; readonly quoteId: string | undefined; readonly seconds: number },
  extra: object,
) => ({
  scheme,
  network: offer.network,
  amount: units,
  asset: offer.asset,
  payTo: offer.payTo,
  maxTimeoutSeconds: seconds,
  extra: { ...extraOf(offer), ...extra, ...(quoteId === undefined ? {} : { quoteId }) },
})

/** What version 2 asks for; `upfront` says that the payment is settled before the model runs. */
export const requirementsV2 = (offer: Offer, units: string, quoteId: string | undefined, seconds: number) =>
  requirements('exact', offer, { units, quoteId, seconds }, { paymentFlow: 'upfront' })

/** What version 2 asks for when the payment is settled after the call, for what the call was charged. */
export const requirementsUpto = (
  offer: Offer,
  units: string,
  quoteId: string | undefined,
  { facilitator, seconds }: UptoTerms,
) =>
  requirements(
    'upto',
    offer,
    { units, quoteId, seconds },
    { assetTransferMethod: 'permit2', facilitatorAddress: facilitator },
  )

/** What version 2 asks of a payer with a deposit: a voucher for the most that the call can cost. */
export const requirementsVoucher = (
  offer: Offer,
  units: string,
  quoteId: string | undefined,
  { authorizer, withdrawSeconds, seconds, stands }: VoucherTerms,
) =>
  requirements(
    'batch-settlement',
    offer,
    { units, quoteId, seconds },
    { receiverAuthorizer: authorizer, withdrawDelay: withdrawSeconds, ...stands },
  )

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

type Scheme = (quoted: Quoted, timeoutSeconds: number) => object | undefined

/** The schemes of version 2. Clients take the first one they know, so what takes no more than was used comes first. */
const schemes: readonly Scheme[] = [
  ({ offer, quote, voucher }) =>
    voucher === undefined ? undefined : requirementsVoucher(offer, quote.units, quote.id, voucher),
  ({ offer, quote, upto }) =>
    upto === undefined ? undefined : requirementsUpto(offer, quote.units, quote.id, upto),
  ({ offer, quote }, seconds) => requirementsV2(offer, quote.units, quote.id, seconds),
]

/** The header of version 2. */
export const headerV2 = ({ quoted, resource, timeoutSeconds, error }: X402Quote): string =>
  encodeHeader({
    x402Version: 2,
    error,
    resource: { ...resource, mimeType: MIME },
    accepts: quoted.flatMap((one) => schemes.flatMap((scheme) => scheme(one, timeoutSeconds) ?? [])),
    extensions: {},
  })

/** The members of version 1's body; none where no token has a name in that version. */
export const membersV1 = ({ quoted, resource, timeoutSeconds }: X402Quote): object => {
  const accepts = quoted
    .filter(({ offer }) => offer.v1Network !== undefined)
    .map(({ offer, quote }) => requirementsV1(offer, quote.units, resource, timeoutSeconds))
  return accepts.length === 0 ? {} : { x402Version: 1, accepts }
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
