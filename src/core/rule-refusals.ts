/** Refusals by what an organisation, or a call itself, has ruled: guardrails, conditions, keys of its own. */
export type RefusalRow = {
  readonly status: number
  readonly type: string
  readonly meaning: string
  readonly members?: string
}

export const ruleRefusals = {
  guardrail_blocked: {
    status: 400,
    type: 'content_filter',
    meaning:
      'A rule of the key or the account (guardrails) blocks what is in the request or the answer; `rule` and `side` name it. ' +
      'Nothing is charged for a request; an answer is charged what its vendor bills.',
    members: 'rule, side, cost_usd',
  },
  not_guarded: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      'Guardrails apply, and cannot look into this kind of call or keep their promise for it; `message` says what to send instead.',
    members: 'param',
  },
  guardrail_failed: {
    status: 503,
    type: 'api_error',
    meaning:
      'A hook of guardrails did not answer as it must, so the call is not made or its answer not given.',
    members: 'rule, cost_usd',
  },
  conditions_not_met: {
    status: 403,
    type: 'invalid_request_error',
    meaning:
      'The call asks for conditions (`conditions`: zdr, no_training, region), by its header, its key or the rules of its wallet, which nothing known of the vendors of its model meets, or which what it asks for beside cannot meet. `satisfied_by` names models that do. Nothing was sent.',
    members: 'param, conditions, satisfied_by',
  },
  answer_not_kept: {
    status: 410,
    type: 'invalid_request_error',
    meaning:
      'A call under this `Idempotency-Key` was answered and charged, and its answer was not kept: it asked for zdr, or guardrails blocked it.',
  },
  own_keys_not_carried: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      "The organisation has keys of its own at the vendor of the model (`provider`), and this would be sent with the house's: a call that x402 pays, or a line of a batch that was priced before the organisation's keys there changed.",
    members: 'provider',
  },
  own_keys_unavailable: {
    status: 503,
    type: 'service_unavailable',
    meaning:
      "The organisation has keys of its own at the vendor of the model, and none can be used: they are turned off, or cannot be opened because the service that wraps them cannot be reached. The house's key is not asked in their place.",
    members: 'provider, retry_after',
  },
} as const satisfies Readonly<Record<string, RefusalRow>>
