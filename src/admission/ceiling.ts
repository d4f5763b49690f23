/** Ceilings on the cost of one call: the caller's own, and the one in the wallet's rules. */
import { decimalFromNano, type ExactNumber, type Nano, nanoFromDecimal } from '../core/money.ts'
import { invalid, type Refusal, refuse } from '../core/refusal.ts'

/** What one call may cost, and who set that: the caller, or a rule of the wallet. */
type CallLimit = { readonly amount: Nano; readonly name: 'max_cost' | 'per_call_max_usd' }

/** Undefined when nobody set one. */
export type Ceiling = CallLimit | undefined

/** Reads `X-Max-Cost-Usd`: a decimal string of USD with at most nine decimals. */
export const readCeiling = (header: string | undefined): Ceiling | Refusal => {
  if (header === undefined) return undefined
  const amount = nanoFromDecimal(header)
  return amount === undefined
    ? invalid(
        'X-Max-Cost-Usd',
        "'X-Max-Cost-Usd' must be a decimal amount of USD such as 0.05, with at most nine decimals.",
      )
    : { amount, name: 'max_cost' }
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

/** The 402 of a call that cannot be answered within its ceiling. */
export const ceilingExceeded = (
  required: Nano,
  { amount, name }: CallLimit,
  credits: { readonly required_credits: ExactNumber; readonly available_credits: ExactNumber },
): Refusal =>
  refuse(
    'max_cost_exceeded',
    `The call may cost up to ${decimalFromNano(required)} USD, more than ${names[name]} allows (${decimalFromNano(amount)}). ` +
      `Raise the ceiling or ${ASK_LESS}.`,
    { members: { ...credits, limit: name } },
  )
