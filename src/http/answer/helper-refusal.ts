/**
 * Refusals of the helper endpoints under /api. As the specification wants, `error` is a stable string, beside `code`,
 * `message` and `request_id`. docs/errors.md is generated from this table.
 */
import type { Refusal } from '../../core/refusal.ts'

type HelperRow = {
  readonly at: string
  readonly status: number
  /** The stable string; the row's name by default. */
  readonly error?: string
  /** The code of the same refusal at other endpoints; the row's name by default. */
  readonly code?: string
  readonly meaning: string
  readonly members?: string
}

const trial = 'POST /api/try/anonymous-wallet'
const verify = 'POST /api/receipts/verify'
const subWallets = '/api/wallet/sub-wallets'
const claim = 'POST /api/wallet/claim'
const referrals = 'POST /api/referrals'
const reviews = 'POST /api/reviews'

export const helperTable = {
  no_trials: {
    at: trial,
    status: 404,
    error: 'not_found',
    code: 'not_found',
    meaning: 'The operator offers no anonymous trials; sign up.',
    members: 'sign_up_url',
  },
  trial_already_claimed: {
    at: trial,
    status: 429,
    meaning: 'A trial was claimed from this network address before; wait, or sign up.',
    members: 'retry_after_seconds, sign_up_url',
  },
  trial_budget_exhausted: {
    at: trial,
    status: 429,
    meaning: "All of today's trials are used up; wait, or sign up.",
    members: 'retry_after_seconds, sign_up_url',
  },
  wallet_grant_failed: {
    at: trial,
    status: 500,
    meaning:
      'The wallet could not be made; retry with an Idempotency-Key, and see `services` in /api/status.',
  },
  mint_key_failed: {
    at: trial,
    status: 500,
    meaning: 'The key could not be made; see `services.api` in /api/status.',
  },
  receipt_required: { at: verify, status: 400, meaning: 'The field `receipt` is missing.' },
  verifier_not_configured: {
    at: verify,
    status: 503,
    meaning: 'No receipt key is known, or receipts are off; retry in 30 seconds.',
    members: 'retry_after_seconds',
  },
  unauthorized: {
    at: 'GET, PUT /api/wallet/rules',
    status: 401,
    error: 'Unauthorized',
    code: 'missing_authorization',
    meaning: 'The bearer is missing.',
  },
  budget_out_of_range: {
    at: `POST, PATCH ${subWallets}`,
    status: 400,
    error: 'budget_usd must be > 0 and <= 10000',
    code: 'invalid_parameter',
    meaning: 'The budget is missing, is not a number, or is out of range.',
    members: 'param',
  },
  unknown_sub_wallet: {
    at: `GET, PATCH, DELETE ${subWallets}/{id}`,
    status: 404,
    error: 'not_found',
    code: 'not_found',
    meaning: 'There is no such sub-wallet, or it is not yours.',
  },
  claim_required: { at: claim, status: 400, meaning: 'Neither `claim` nor `receipt` is given.' },
  unknown_claim: {
    at: claim,
    status: 404,
    error: 'not_found',
    code: 'not_found',
    meaning: 'The value is not the claim or the receipt of a payment without a key.',
  },
  change_already_claimed: {
    at: claim,
    status: 409,
    error: 'already_claimed',
    code: 'already_claimed',
    meaning: 'The change of that payment was claimed before.',
  },
  not_served_yet: { at: claim, status: 409, meaning: 'A call of the payment is under way.' },
  invalid_code: { at: referrals, status: 400, meaning: "The code is not another account's." },
  self_referral_forbidden: { at: referrals, status: 400, meaning: "The code is your own account's." },
  already_claimed: { at: referrals, status: 409, meaning: 'The account has claimed a code before.' },
  skill_required: {
    at: reviews,
    status: 400,
    error: 'skill is required',
    code: 'invalid_parameter',
    meaning: 'The field `skill` is missing, empty or too long.',
  },
  rating_out_of_range: {
    at: reviews,
    status: 400,
    error: 'rating must be 1-5',
    code: 'invalid_parameter',
    meaning: 'The field `rating` is not a whole number from 1 to 5.',
  },
  skill_and_rating: {
    at: reviews,
    status: 400,
    error: 'skill is required; rating must be 1-5',
    code: 'invalid_parameter',
    meaning: 'Both.',
  },
  missing_idempotency_key: {
    at: 'POST /api/idempotent-run',
    status: 400,
    meaning:
      'The header is missing. All other errors of this endpoint are those of /v1/run, with their error object.',
  },
} as const satisfies Record<string, HelperRow>

type RefusalMembers = Readonly<Record<string, string | number>>

export class HelperRefusal {
  readonly #row: HelperRow
  readonly #name: string
  readonly #message: string
  readonly #members: RefusalMembers

  constructor(name: keyof typeof helperTable, message: string, members: RefusalMembers = {}) {
    this.#row = helperTable[name]
    this.#name = name
    this.#message = message
    this.#members = members
  }

  get status(): number {
    return this.#row.status
  }

  get error(): string {
    return this.#row.error ?? this.#name
  }

  /** Seconds after which to try again. */
  get retryAfter(): string | undefined {
    const { retry_after_seconds: seconds } = this.#members
    return seconds === undefined ? undefined : String(seconds)
  }

  body(requestId: string) {
    const { code = this.#name } = this.#row
    return { error: this.error, code, message: this.#message, ...this.#members, request_id: requestId }
  }
}

/** Any other refusal in the shape of these endpoints; its code is the string. */
export const helperBody = ({ code, message, members }: Refusal, requestId: string) => ({
  error: code,
  code,
  message,
  ...members,
  request_id: requestId,
})
