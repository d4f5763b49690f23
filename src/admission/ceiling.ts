/** The caller's own ceiling on the cost of one call. */
import { decimalFromNano, type Nano, nanoFromDecimal } from '../core/money.ts'
import { invalid, type Refusal, refuse } from '../core/refusal.ts'

/** Nano-USD, or undefined when the caller set none. */
export type Ceiling = Nano | undefined

/** Reads `X-Max-Cost-Usd`: a decimal string of USD with at most nine decimals. */
export const readCeiling = (header: string | undefined): Ceiling | Refusal => {
  if (header === undefined) return undefined
  const amount = nanoFromDecimal(header)
  return (
    amount ??
    invalid(
      'X-Max-Cost-Usd',
      "'X-Max-Cost-Usd' must be a decimal amount of USD such as 0.05, with at most nine decimals.",
    )
  )
}

/** The 402 of a call that cannot be answered within the caller's ceiling. */
export const ceilingExceeded = (required: Nano, ceiling: Nano, credits: (amount: Nano) => number): Refusal =>
  refuse(
    'max_cost_exceeded',
    `The call may cost up to ${decimalFromNano(required)} USD, more than X-Max-Cost-Usd allows (${decimalFromNano(ceiling)}). ` +
      'Lower max_tokens or raise the ceiling.',
    {
      members: {
        required_credits: credits(required),
        available_credits: credits(ceiling),
        limit: 'max_cost',
      },
    },
  )
