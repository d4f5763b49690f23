/**
 * The 402 of a quote, for every payer in one answer: each protocol has a row that adds its headers and its members of
 * the body. All ask for the same price until the same time.
 */
import { decimalFromNano } from '../core/money.ts'
import { type Challenge, challengeHeader } from './mpp/challenge.ts'
import { problemOf, problemStatus } from './mpp/problem.ts'
import { nanoOfUnits } from './x402/offer.ts'
import { headerV2, membersV1, type Quoted, type X402Quote } from './x402/required.ts'

type Required = X402Quote & {
  readonly quoted: readonly [Quoted, ...Quoted[]]
  /** What the scheme `Payment` asks for; none where it is not taken. */
  readonly challenges: readonly Challenge[]
  /** The request brought a credential of the scheme `Payment`, so it reads problem details. */
  readonly readsProblems: boolean
  /** The output bound that was quoted in place of the model's own. */
  readonly outputTokens: number | undefined
  /** What becomes of money that is left over. */
  readonly change: ChangePolicy
}

const CHANGE_POLICY = {
  invoice: "The invoice takes what it comes to; anything beyond is credited to the key's wallet.",
  bearer: "What the call does not use is credited to the key's wallet.",
  none: 'What the call does not use is credited once to the wallet of whoever sends the X-Change-Claim of the answer, or its receipt, to POST /api/wallet/claim.',
}

export type ChangePolicy = keyof typeof CHANGE_POLICY

/** Most who read a 402 without a key have only forgotten it. */
const OR_A_KEY =
  'Send an API key (Authorization: Bearer <key>), or pay for this call alone: by x402, whose quote is in PAYMENT-REQUIRED, or by MPP, whose challenges are in WWW-Authenticate.'

const quoteOf = ({ quoted: [first], change, outputTokens }: Required) => ({
  protocol: 'x402',
  quote_id: first.quote.id,
  amount_usd: decimalFromNano(nanoOfUnits(first.offer, first.quote.units)),
  currency: first.offer.name,
  upper_bound: change !== 'invoice',
  ...(outputTokens === undefined ? {} : { max_output_tokens: outputTokens }),
  expires_at: new Date(first.quote.expiresAt).toISOString(),
  change_policy: CHANGE_POLICY[change],
})

type Row = (it: Required) => {
  readonly headers?: Readonly<Record<string, string>>
  readonly members?: object
}

const protocols: readonly Row[] = [
  (it) => ({ headers: { 'payment-required': headerV2(it) } }),
  (it) => ({ members: membersV1(it) }),
  ({ challenges, error }) =>
    challenges.length === 0
      ? {}
      : { headers: { 'www-authenticate': challengeHeader(challenges) }, members: problemOf(error) },
]

export const paymentRequired = (it: Required) => {
  const { error, change, readsProblems } = it
  const rows = protocols.map((row) => row(it))
  return {
    status: readsProblems ? problemStatus(error) : 402,
    headers: {
      'content-type': readsProblems ? 'application/problem+json' : 'application/json',
      'cache-control': 'private, no-store',
      'access-control-expose-headers':
        'WWW-Authenticate, PAYMENT-REQUIRED, Payment-Receipt, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Change-Claim',
      ...Object.assign({}, ...rows.map(({ headers }) => headers)),
    } as Readonly<Record<string, string>>,
    body: {
      error,
      ...(change === 'none' ? { message: OR_A_KEY } : {}),
      ...Object.assign({}, ...rows.map(({ members }) => members)),
      quote: quoteOf(it),
    },
  }
}
