/** The problem details of a 402, and the receipt of a payment. Source: The "Payment" HTTP Authentication Scheme. */
import type { Instant } from '../../core/time.ts'

const BASE = 'https://paymentauth.org/problems/'

type Row = readonly [type: string, title: string, detail: string]

const CHALLENGE = 'invalid-challenge'
const INVALID = 'Invalid Challenge'

/** By the reason of the 402; what is not listed is what a facilitator said of the proof. */
const problems: Readonly<Record<string, Row>> = {
  payment_required: ['payment-required', 'Payment Required', 'This request has to be paid for.'],
  malformed_credential: [
    'malformed-credential',
    'Malformed Credential',
    'The credential is not the base64url of a challenge and its proof of payment.',
  ],
  invalid_challenge: [
    CHALLENGE,
    INVALID,
    'The challenge is not one of this server for this request: its address, its body, its amount.',
  ],
  quote_expired: [CHALLENGE, INVALID, 'The challenge has expired.'],
  payment_already_used: [CHALLENGE, INVALID, 'The challenge was answered before.'],
  quote_mismatch: [
    'payment-insufficient',
    'Payment Insufficient',
    'The amount is not what this request costs.',
  ],
  payment_expired: ['payment-expired', 'Payment Expired', 'The authorization has expired.'],
  authentication_required: [
    'payment-action-required',
    'Payment Action Required',
    "The card's bank wants its holder to confirm the payment: pay with a token of another card.",
  ],
  method_unsupported: [
    'method-unsupported',
    'Method Unsupported',
    'No challenge of this server has that method.',
  ],
}

/** The status of a problem; the draft tells a method that is not taken from what can be paid again. */
export const problemStatus = (reason: string): 400 | 402 => (reason === 'method_unsupported' ? 400 : 402)

export const problemOf = (reason: string) => {
  const [type, title, detail] = problems[reason] ?? [
    'verification-failed',
    'Verification Failed',
    `The payment was not taken: ${reason}.`,
  ]
  return { type: BASE + type, title, status: problemStatus(reason), detail }
}

type Received = {
  readonly method: string
  /** Where the payment can be found: its transaction. */
  readonly reference: string
  readonly challengeId: string
  readonly at: Instant
}

/** The value of `Payment-Receipt`. */
export const receiptHeader = ({ method, reference, challengeId, at }: Received): string =>
  Buffer.from(
    JSON.stringify({
      status: 'success',
      method,
      reference,
      challengeId,
      timestamp: new Date(at).toISOString(),
    }),
  ).toString('base64url')
