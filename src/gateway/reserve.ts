/** The hold of a call: its ceiling on every meter at once, or the largest one that is affordable. */
import { type Ceiling, ceilingExceeded } from '../admission/ceiling.ts'
import type { Hold, HoldRefused } from '../book/words.ts'
import type { Call } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import { least, type Nano } from '../core/money.ts'
import { invalid, Refusal, refuse } from '../core/refusal.ts'
import type { AccountId, BindingLimit } from '../ledger/words.ts'
import { affordableOutput, ceiling as ceilingOf, smallestUseful, usedUpBelow } from '../pricing/quote.ts'
import type { Key } from '../tenancy/key.ts'
import { creditsOf } from './credits.ts'
import type { Gateway } from './gateway.ts'

export type Reserved = {
  readonly hold: Hold
  readonly outputBound: number | undefined
  readonly heldOutput: number
  readonly fullOutput: number
  /** The bound that was sent in place of the model's own because no more is affordable. */
  readonly lowered: number | undefined
}

export type Ask = {
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  /** What pays when it is not the key's wallet. */
  readonly account: AccountId | undefined
  readonly call: Call
  readonly model: Model
  readonly ceiling: Ceiling
  readonly callId: string
}

/** Streams without a bound of their own start on a hold of this many output tokens and extend it as they go. */
const FIRST_OUTPUT = 4096

/** How often a lowered bound is tried again when other calls took the money meanwhile. */
const TRIES = 3

/** The output bound of a call, in each of its answers, and the most it can cost. */
export type Plan = { readonly output: number; readonly amount: Nano }

/** Plans a call within its ceiling; `most` bounds the output of a caller who gave no bound. */
export const planCall = (
  gateway: Gateway,
  { call, model, ceiling }: Pick<Ask, 'call' | 'model' | 'ceiling'>,
  most: number,
): Plan | Refusal => {
  const explicit = call.maxOutput
  if (explicit !== undefined && explicit > model.maxOutputTokens)
    return invalid(
      'max_tokens',
      `'max_tokens' is ${explicit}; ${model.id} answers with at most ${model.maxOutputTokens} tokens.`,
    )
  const price = (output: number) => ceilingOf(model, call.size, output, call.choices)
  const output = explicit ?? Math.min(most, model.maxOutputTokens)
  if (ceiling === undefined || price(output) <= ceiling.amount) return { output, amount: price(output) }
  const affordable =
    explicit === undefined ? affordableOutput(model, call.size, call.choices, ceiling.amount) : 0
  if (affordable < 1)
    return ceilingExceeded(
      explicit === undefined ? smallestUseful(model, call.size) : price(output),
      ceiling,
      creditsOf(gateway),
    )
  const lowered = Math.min(affordable, output)
  return { output: lowered, amount: price(lowered) }
}

export const reserve = async (gateway: Gateway, ask: Ask): Promise<Reserved | Refusal> => {
  const { call, model } = ask
  const credits = creditsOf(gateway)
  const explicit = call.maxOutput
  const price = (output: number) => ceilingOf(model, call.size, output, call.choices)
  const plan = planCall(gateway, ask, model.maxOutputTokens)
  if (plan instanceof Refusal) return plan
  let { output } = plan
  for (let tries = 0; ; tries++) {
    const first = startsSmall(call, model) ? Math.min(output, FIRST_OUTPUT) : output
    const amount = price(first)
    const hold = await gateway.book.hold({
      callId: ask.callId,
      key: ask.key,
      sub: ask.sub,
      account: ask.account,
      amount,
      useful: least(usedUpBelow(model, call.size), amount),
    })
    if (hold instanceof Refusal) return hold
    if (!('outcome' in hold)) {
      const lowered = explicit === undefined && output < model.maxOutputTokens ? output : undefined
      return {
        hold,
        outputBound: lowered,
        lowered,
        heldOutput: first * call.choices,
        fullOutput: output * call.choices,
      }
    }
    const affordable =
      explicit === undefined ? affordableOutput(model, call.size, call.choices, hold.available) : 0
    if (affordable < 1 || affordable >= first || tries === TRIES)
      return doesNotFit(
        hold,
        explicit === undefined ? smallestUseful(model, call.size) : price(output),
        credits,
      )
    output = affordable
  }
}

/**
 * Only where what is delivered tells what is used: a reasoning model also bills tokens nobody sees, so its whole bound
 * is held from the start.
 */
const startsSmall = (call: Call, model: Model): boolean =>
  call.kind === 'chat' &&
  call.stream &&
  call.maxOutput === undefined &&
  !model.capabilities.includes('reasoning')

const limitTexts: Readonly<Record<BindingLimit, string>> = {
  wallet: 'the wallet',
  spend_cap_usd: "the key's lifetime cap",
  monthly_cap_usd: "the key's monthly cap",
  sub_wallet: 'the sub-wallet',
  daily_limit_usd: "the wallet's daily limit",
  stop_at_remaining_usd: 'the amount the key must leave in the wallet',
  credit_line: 'the credit line',
  no_credit_line: 'the credit line',
  past_due: 'the credit line',
  payment: 'the payment',
}

/** Why nothing can be charged to a credit line, and what to do. */
const barTexts: Readonly<Partial<Record<BindingLimit, string>>> = {
  no_credit_line:
    'Post-paid billing (mpp) is not enabled for this account: the operator grants a credit line. ' +
    "Leave 'X-Payment-Protocol' out to pay from the wallet.",
  past_due:
    'Post-paid billing (mpp) is suspended: an invoice is past due, or a payment was taken back. GET /api/billing shows it. ' +
    "Pay it, or leave 'X-Payment-Protocol' out to pay from the wallet.",
}

/** The 402 that names what binds, how much it has and how much open calls hold of it. */
export const doesNotFit = (
  refused: Pick<HoldRefused, 'limit' | 'available' | 'held'>,
  required: Nano,
  credits: (amount: Nano) => number,
): Refusal => {
  const available = refused.available > 0n ? refused.available : 0n
  const text =
    barTexts[refused.limit] ??
    `The call needs ${credits(required)} credits; ${limitTexts[refused.limit]} has ${credits(available)} available` +
      `${refused.held > 0n ? ` while open calls hold ${credits(refused.held)}` : ''}. Add credits, raise the limit or lower max_tokens.`
  return refuse('insufficient_balance', text, {
    members: {
      required_credits: credits(required),
      available_credits: credits(available),
      held_credits: credits(refused.held),
      limit: refused.limit,
    },
  })
}
