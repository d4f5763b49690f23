/** Ceilings on the cost of one call: the caller's own, and the one in the wallet's rules. */
import { decimalFromNano, type ExactNumber, type Nano, nanoFromDecimal } from '../core/money.ts'
import { invalid, type Refusal, refuse } from '../core/refusal.ts'
import { bound, type Told } from '../tenancy/terms.ts'

/** What one call may cost, and who set that: the caller, or a rule of the wallet. */
type CallLimit = { readonly amount: Nano; readonly name: 'max_cost' | 'per_call_max_usd' }

/** Undefined when nobody set one. */
export type Ceiling = CallLimit | undefined

/**
 * Reads `X-Max-Cost-Usd`: a decimal string of USD with at most nine decimals. A tenant sends it in its reseller's price.
 */
export const readCeiling = (header: string | undefined, terms?: Told): Ceiling | Refusal => {
  if (header === undefined) return undefined
  const amount = nanoFromDecimal(header)
  return amount === undefined
    ? invalid(
        'X-Max-Cost-Usd',
        "'X-Max-Cost-Usd' must be a decimal amount of USD such as 0.05, with at most nine decimals.",
      )
    : { amount: bound(amount, terms), name: 'max_cost' }
}

/** The ceiling together with a rule of the wallet; the lower one applies. */
export const lowerOf = (ceiling: Ceiling, perCallMax: Nano | undefined): Ceiling =>
  perCallMax !== undefined && (ceiling === undefined || perCallMax < ceiling.amount)
    ? { amount: perCallMax, name: 'per_call_max_usd' }
    : ceiling

const names = {
  max_cost: 'X-Max-Cost-Usd',
  per_call_max_usd: "the wallet's rule per_call_max_usd",
} as const

/** What makes a call of any kind cheaper. */
export const ASK_LESS = 'ask for less (max_tokens, number, length or size)'

type Figures = {
  readonly required: Nano
  readonly amount: Nano
  readonly credits: { readonly required_credits: ExactNumber; readonly available_credits: ExactNumber }
}

/** The 402 of a call that cannot be answered within its ceiling; without figures where the caller is told none. */
export const ceilingExceeded = (name: CallLimit['name'], figures: Figures | undefined): Refusal => {
  const { required, amount, credits } = figures ?? {}
  const exceeds =
    required === undefined || amount === undefined
      ? `The call may cost more than ${names[name]} allows.`
      : `The call may cost up to ${decimalFromNano(required)} USD, more than ${names[name]} allows (${decimalFromNano(amount)}).`
  return refuse('max_cost_exceeded', `${exceeds} Raise the ceiling or ${ASK_LESS}.`, {
    members: { ...credits, limit: name },
  })
}
