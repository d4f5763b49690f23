/** Computes a receipt's amount from its own claims alone: any holder can do that, without asking the server. */
import { isObject, type JsonObject } from '../core/json-body.ts'
import { least, type Nano, nanoFromDecimal, nanoFromPicoUp, picoFromPerMillion } from '../core/money.ts'

/**
 * Units times unit prices, rounded up once to the nano-dollar; not more than was authorised; plus the adjustment.
 * Undefined when the claims are not those of a receipt.
 */
export const recompute = (claims: JsonObject): Nano | undefined => {
  const { cost, usage } = claims
  if (!isObject(cost) || !isObject(usage) || !isObject(cost.prices_usd_per_million)) return undefined
  let pico = 0n
  for (const [name, units] of Object.entries(usage)) {
    const listed = cost.prices_usd_per_million[name]
    const price = typeof listed === 'string' ? picoFromPerMillion(listed) : undefined
    if (price === undefined || typeof units !== 'number' || !Number.isSafeInteger(units) || units < 0)
      return undefined
    pico += BigInt(units) * BigInt(price)
  }
  const sum = nanoFromPicoUp(pico)
  const authorized = cost.authorized === undefined ? sum : signed(cost.authorized)
  const adjustment = cost.adjustment === undefined ? 0n : signed(cost.adjustment)
  return authorized === undefined || adjustment === undefined
    ? undefined
    : least(sum, authorized) + adjustment
}

/** Whether the amount in a receipt equals the one that its other claims give. */
export const recomputes = (claims: JsonObject): boolean => {
  const stated = isObject(claims.cost) ? signed(claims.cost.amount) : undefined
  return stated !== undefined && stated === recompute(claims)
}

const signed = (text: unknown): Nano | undefined => {
  if (typeof text !== 'string') return undefined
  const amount = nanoFromDecimal(text.replace(/^-/, ''))
  return amount !== undefined && text.startsWith('-') ? -amount : amount
}
