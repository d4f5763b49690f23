/** Everything a caller can be told "no" for, one row each. The reference in docs/errors.md is generated from it. */

import { type RefusalRow, ruleRefusals } from './rule-refusals.ts'

export const refusalTable = {
  invalid_json: { status: 400, type: 'invalid_request_error', meaning: 'The body is not valid JSON.' },
  invalid_parameter: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'A field is missing, of the wrong type or out of range; `param` names it.',
    members: 'param',
  },
  model_not_found: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      'No model of this name is sold here; `message` names the likeliest one, or the day on which its vendor retired it. ' +
      'Or the vendor (`provider`) does not offer it to this server.',
    members: 'param, provider',
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    meaning: "The input and the output asked for do not fit the model's context.",
  },
  not_offered: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      'Official clients have a method for this address, which is not offered here; `message` says what to use instead.',
  },
  content_policy_violation: {
    status: 400,
    type: 'content_filter',
    meaning: "The prompt or the answer was blocked by the vendor's safety filters.",
  },
  missing_idempotency_key: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'The endpoint needs an `Idempotency-Key` header.',
  },
  missing_authorization: {
    status: 401,
    type: 'invalid_request_error',
    meaning: 'There is no `Authorization: Bearer` header.',
  },
  invalid_api_key: {
    status: 401,
    type: 'invalid_request_error',
    meaning:
      'The key is unknown, deleted or of the wrong format, or its trial has ended (`reason` is trial_ended).',
    members: 'reason, sign_up_url',
  },
  sign_in_required: { status: 401, type: 'invalid_request_error', meaning: 'The console: not signed in.' },
  sign_in_failed: {
    status: 401,
    type: 'invalid_request_error',
    meaning: 'The console: address, password, code or link is wrong, or was used before.',
  },
  code_required: { status: 401, type: 'invalid_request_error', meaning: 'The console: a code is needed.' },
  foreign_origin: {
    status: 403,
    type: 'invalid_request_error',
    meaning: 'The request comes from a page of another site.',
  },
  insufficient_balance: {
    status: 402,
    type: 'insufficient_balance',
    meaning:
      'The call does not fit the wallet or a cap. `limit` names what binds: wallet, a cap of a key by its member, such as monthly_cap_usd, ' +
      'budget (of a tag or an end user: `budget` names it, `period` what it is for, and `resets_at` when that begins anew), sub_wallet, daily_limit_usd, stop_at_remaining_usd or max_cost; in post-paid mode credit_line, no_credit_line or past_due.',
    members:
      'required_credits, available_credits, held_credits, limit, limit_owner, budget, period, resets_at, reason, sign_up_url',
  },
  balance_held: {
    status: 429,
    type: 'rate_limit_error',
    meaning:
      'The call would fit, but open calls hold the money. The server has waited a little; the money may be free after `Retry-After`. ' +
      '`limit` names the limit whose money they hold, as for insufficient_balance.',
    members:
      'retry_after, required_credits, available_credits, held_credits, limit, limit_owner, budget, period, resets_at',
  },
  max_cost_exceeded: {
    status: 402,
    type: 'insufficient_balance',
    meaning:
      'The call cannot be answered within `X-Max-Cost-Usd` (`limit` is max_cost), or within what the rules of the wallet ' +
      'allow for one call (`limit` is per_call_max_usd).',
    members: 'required_credits, available_credits, limit',
  },
  payment_mode_unavailable: {
    status: 402,
    type: 'insufficient_balance',
    meaning: 'The server does not take x402 payments; `payment_modes` lists what it takes.',
    members: 'payment_modes',
  },
  payment_failed: {
    status: 402,
    type: 'insufficient_balance',
    meaning:
      'The call was answered, but the x402 payment that was authorised for it (`upto`) failed, so the answer is withheld; `reason` says why.',
    members: 'reason',
  },
  key_disabled: {
    status: 403,
    type: 'invalid_request_error',
    meaning: 'The key is disabled; `reason` says by whom (self, reseller, operator) or by which cap.',
    members: 'reason',
  },
  account_suspended: {
    status: 403,
    type: 'invalid_request_error',
    meaning: 'The operator has suspended the account of the key; `message` says why.',
  },
  already_exists: {
    status: 409,
    type: 'invalid_request_error',
    meaning: 'Another user or group of the directory has this name, or another user this person.',
  },
  precondition_failed: {
    status: 412,
    type: 'invalid_request_error',
    meaning: 'What the request would change was changed since it was read (`If-Match`); read it again.',
  },
  forbidden: {
    status: 403,
    type: 'invalid_request_error',
    meaning:
      'The key may not do this. A key may narrow its limits, but not raise them above what its creator or the plan allows; ' +
      'only a key that may manage (`can_manage`) governs keys below it, sub-wallets and the wallet.',
    members: 'param',
  },
  model_not_allowed: {
    status: 403,
    type: 'invalid_request_error',
    meaning: 'The rules of the wallet do not allow the model.',
    members: 'param',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    meaning: 'There is nothing at this address, or it is not yours.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    meaning: 'The address does not take this method; `Allow` lists those it takes.',
  },
  request_timeout: {
    status: 408,
    type: 'invalid_request_error',
    meaning: 'The body did not arrive within `BODY_SECONDS`.',
  },
  not_ready: {
    status: 409,
    type: 'invalid_request_error',
    meaning: 'Something has to come first: a month has to end, or a setting to be made. `message` says what.',
  },
  idempotency_key_reused: {
    status: 409,
    type: 'invalid_request_error',
    meaning: 'The `Idempotency-Key` was used with another body.',
  },
  idempotency_in_progress: {
    status: 409,
    type: 'invalid_request_error',
    meaning:
      'A call with this `Idempotency-Key` is still running on another process; retry after `Retry-After`.',
    members: 'retry_after',
  },
  asset_expired: {
    status: 410,
    type: 'invalid_request_error',
    meaning:
      'The signed address has expired, or the asset was deleted. While the asset is kept, its key reads it without a signature.',
  },
  run_cancelled: {
    status: 410,
    type: 'invalid_request_error',
    meaning: 'The run was cancelled by its caller; `cost_usd` is what its vendor bills for that.',
    members: 'provider, cost_usd',
  },
  asset_too_large: {
    status: 413,
    type: 'invalid_request_error',
    meaning: 'The result of the call is larger than the server can store; ask for a smaller or shorter one.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    meaning: 'The body is larger than the server accepts.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    meaning:
      'The body is not `application/json` in UTF-8 (or a form, where one is taken), is compressed, or holds a file of a type that is not taken.',
  },
  upgrade_required: {
    status: 426,
    type: 'invalid_request_error',
    meaning: 'The address is a WebSocket; `Upgrade` says what to upgrade to.',
  },
  budget_full: {
    status: 403,
    type: 'invalid_request_error',
    meaning:
      'The call names a new value of a tag, such as a new end user, whose default budget is for no more values; `budget` names it.',
    members: 'budget',
  },
  too_many_runs: {
    status: 429,
    type: 'rate_limit_error',
    meaning:
      'The key has reached its limit of open jobs (`RUNS_OPEN_MAX`); wait for one to end, or cancel one.',
    members: 'retry_after',
  },
  too_many_batches: {
    status: 429,
    type: 'rate_limit_error',
    meaning:
      'The key has reached its limit of open batches (`BATCHES_OPEN_MAX`); wait for one to end, or cancel one.',
    members: 'retry_after',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    meaning:
      'The key has used up its requests of a minute, hour or day, or its tokens of a minute; `limit` names which: rpm_limit, ' +
      'rph_limit, rpd_limit or tpm_limit. Or a network address that calls without a key has used up its `GUEST_RPM`.',
    members: 'retry_after, limit',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    meaning: 'There are too many headers, or they are too long.',
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    meaning: 'A fault of this server. The call was not charged.',
  },
  upstream_error: {
    status: 503,
    type: 'service_unavailable',
    meaning:
      'The vendor of the model failed or refused; a model of another vendor may work. `Retry-After` is sent when the vendor ' +
      'named a time. At the end of a broken stream `cost_usd` is the charge for what was delivered, `estimated` that Turnpike counted it.',
    members: 'provider, vendor_key, retry_after, cost_usd, estimated',
  },
  payment_unconfirmed: {
    status: 503,
    type: 'service_unavailable',
    meaning:
      'It is not known yet whether the x402 payment went through. Send the same payment again after `Retry-After`; do not sign a new one.',
    members: 'retry_after',
  },
  moving: {
    status: 503,
    type: 'service_unavailable',
    meaning:
      'The organisation of the key is being moved to another cell (`cell`). The server has waited a little; try again after `Retry-After`.',
    members: 'retry_after, cell',
  },
  moved: {
    status: 421,
    type: 'invalid_request_error',
    meaning:
      'The organisation of the key is in another cell (`cell`), and this server does not know its address.',
    members: 'cell',
  },
  service_unavailable: {
    status: 503,
    type: 'service_unavailable',
    meaning:
      'The server cannot take the call now (ledger unreachable, overload or shutdown); retry after `Retry-After`.',
    members: 'retry_after',
  },
  wrong_cell: {
    status: 421,
    type: 'invalid_request_error',
    meaning:
      'The key belongs to another cell, which `cell` and the header `X-Turnpike-Cell` name; send the request there.',
    members: 'cell',
  },
  cell_unavailable: {
    status: 503,
    type: 'service_unavailable',
    meaning:
      'The cell of the key, `cell`, does not answer; others go on. If its gateway ended in the call, `message` says that it ' +
      'may have been charged; a repeat with the same `Idempotency-Key` is charged once.',
    members: 'cell, retry_after',
  },
  ...ruleRefusals,
} as const satisfies Record<string, RefusalRow>
