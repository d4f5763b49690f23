/** The hold of a call: its ceiling on every meter at once, or the largest one that is affordable. */
import { type Ceiling, ceilingExceeded } from '../admission/ceiling.ts'
import type { Hold, HoldRefused } from '../book/words.ts'
import type { Call } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import { least, type Nano } from '../core/money.ts'
import { invalid, Refusal, refuse } from '../core/refusal.ts'
import { affordableOutput, ceiling as ceilingOf, smallestUseful } from '../pricing/quote.ts'
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

type Ask = {
  readonly key: Key
  readonly call: Call
  readonly model: Model
  readonly ceiling: Ceiling
  readonly callId: string
}

/** Streams without a bound of their own start on a hold of this many output tokens and extend it as they go. */
const FIRST_OUTPUT = 4096

/** How often a lowered bound is tried again when other calls took the money meanwhile. */
const TRIES = 3

export const reserve = async (gateway: Gateway, ask: Ask): Promise<Reserved | Refusal> => {
  const { call, model } = ask
  const credits = creditsOf(gateway)
  const explicit = call.maxOutput
  if (explicit !== undefined && explicit > model.maxOutputTokens)
    return invalid(
      'max_tokens',
      `'max_tokens' is ${explicit}; ${model.id} answers with at most ${model.maxOutputTokens} tokens.`,
    )
  const price = (output: number) => ceilingOf(model, call.size, output, call.choices)
  let output = explicit ?? model.maxOutputTokens
  if (ask.ceiling !== undefined && price(output) > ask.ceiling) {
    const affordable =
      explicit === undefined ? affordableOutput(model, call.size, call.choices, ask.ceiling) : 0
    if (affordable < 1)
      return ceilingExceeded(
        explicit === undefined ? smallestUseful(model, call.size) : price(output),
        ask.ceiling,
        credits,
      )
    output = affordable
  }
  const useful = smallestUseful(model, call.size)
  for (let tries = 0; ; tries++) {
    const first = startsSmall(call, model) ? Math.min(output, FIRST_OUTPUT) : output
    const hold = await gateway.book.hold({
      callId: ask.callId,
      key: ask.key,
      amount: price(first),
      useful: least(useful, price(first)),
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
      return doesNotFit(hold, explicit === undefined ? useful : price(output), credits)
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

const limitTexts = {
  wallet: 'the wallet',
  spend_cap_usd: "the key's lifetime cap",
  monthly_cap_usd: "the key's monthly cap",
  sub_wallet: 'the sub-wallet',
  stop_at_remaining_usd: 'the amount the key must leave in the wallet',
} as const

/** The 402 that names what binds, how much it has and how much open calls hold of it. */
const doesNotFit = (refused: HoldRefused, required: Nano, credits: (amount: Nano) => number): Refusal => {
  const available = refused.available > 0n ? refused.available : 0n
  return refuse(
    'insufficient_balance',
    `The call needs ${credits(required)} credits; ${limitTexts[refused.limit]} has ${credits(available)} available` +
      `${refused.held > 0n ? ` while open calls hold ${credits(refused.held)}` : ''}. Add credits, raise the limit or lower max_tokens.`,
    {
      members: {
        required_credits: credits(required),
        available_credits: credits(available),
        held_credits: credits(refused.held),
        limit: refused.limit,
      },
    },
  )
}
