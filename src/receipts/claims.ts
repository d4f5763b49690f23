/**
 * What a receipt says: who called what, what it used, at which prices, what was charged, and which bytes it is about.
 * Never what was asked or answered, nor a label. The amount follows from the other claims (`recompute.ts`).
 */
import { decimalFromNano, least, type Nano, nanoFromPicoUp, perMillionFromPico } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import { type Usage, type UsageClass, usageClasses } from '../core/usage.ts'
import { type AccountId, type ChargedCall, isCreditAccount, isPaymentAccount } from '../ledger/types.ts'
import { type Terms, told } from '../tenancy/terms.ts'

export type Claims = {
  readonly aud: 'receipt'
  readonly body_hash?: { readonly request: string; readonly response: string }
  readonly cost: Cost
  /** Turnpike counted, because the vendor did not. */
  readonly estimated: boolean
  readonly exp: number
  readonly iat: number
  readonly iss: string
  readonly jti: string
  readonly model?: string
  readonly payment: Readonly<Record<string, string>>
  readonly request_id: string
  /** The key's id. */
  readonly sub: string
  readonly usage: Usage
}

type Cost = {
  /** The difference between the amount and what the other claims give, with its reason. */
  readonly adjustment?: string
  readonly amount: string
  /** What was held for the call, which is never charged more. */
  readonly authorized?: string
  readonly currency: 'USD'
  readonly price_version?: string
  /** Who set the price, if it is not the issuer of the receipt: the reseller whose tenant called. */
  readonly priced_by?: string
  readonly prices_usd_per_million: Readonly<Record<string, string>>
  readonly reason?: 'waived' | 'recovered' | 'corrected' | 'rounded'
}

/** How long a receipt may be used in a dispute. */
export const RECEIPT_LIFE_SECONDS = 90 * 24 * 60 * 60

/** Alphabetical, so that claims are already in canonical form and need no sorting. */
const sortedClasses: readonly UsageClass[] = [...usageClasses].sort()

/** When the call began, as far as that is known. */
export const begunAt = ({ detail, at }: ChargedCall): Instant => detail?.startedAt ?? at

/**
 * The claims for a tenant that is told its reseller's price: the same call, with each price and amount at that price. The
 * amount is rounded once more, which an adjustment says. Another id, as it is another receipt than ours of the call.
 */
export const priceClaimsOf = (issuer: string, call: ChargedCall, terms: Terms): Claims => {
  const { detail } = call
  const facts = detail?.receipt
  const prices = Object.entries(facts?.prices ?? {}).map(([name, price]) => [
    name,
    Number(told(BigInt(price), terms)),
  ])
  const priced: ChargedCall = {
    ...call,
    charged: told(call.charged, terms),
    ...(detail === undefined || facts === undefined
      ? {}
      : {
          detail: {
            ...detail,
            receipt: {
              ...facts,
              prices: Object.fromEntries(prices),
              authorized: told(facts.authorized, terms),
            },
          },
        }),
  }
  const claims = claimsOf(issuer, priced)
  return { ...claims, cost: costOf(priced, terms.issuer), jti: `${claims.jti}.price` }
}

/** The claims of a charged call, with the members of every object in alphabetical order. */
export const claimsOf = (issuer: string, call: ChargedCall): Claims => {
  const { detail } = call
  const facts = detail?.receipt
  const settledAt = detail === undefined ? call.at : detail.startedAt + detail.tookMs
  const iat = Math.floor(settledAt / 1000)
  return {
    aud: 'receipt',
    ...(facts === undefined
      ? {}
      : { body_hash: { request: facts.requestHash, response: facts.responseHash } }),
    cost: costOf(call),
    estimated: detail?.estimated ?? true,
    exp: iat + RECEIPT_LIFE_SECONDS,
    iat,
    iss: issuer,
    jti: `rcp_${call.callId}`,
    ...(detail === undefined ? {} : { model: detail.model }),
    payment: sorted(facts?.payment ?? { mode: modeOf(call.payer) }),
    request_id: call.callId,
    sub: call.keyId,
    usage: usedOf(facts === undefined ? {} : (detail?.usage ?? {})),
  }
}

const modeOf = (account: AccountId): string =>
  isPaymentAccount(account) ? 'x402' : isCreditAccount(account) ? 'mpp' : 'wallet'

const costOf = (call: ChargedCall, pricedBy?: string): Cost => {
  const facts = call.detail?.receipt
  const computed = facts === undefined ? 0n : least(computedOf(call), facts.authorized)
  const adjustment = call.charged - computed
  const settled = pricedBy === undefined ? 'corrected' : 'rounded'
  return {
    ...(adjustment === 0n ? {} : { adjustment: decimalFromNano(adjustment) }),
    amount: decimalFromNano(call.charged),
    ...(facts === undefined ? {} : { authorized: decimalFromNano(facts.authorized) }),
    currency: 'USD',
    ...(call.detail === undefined ? {} : { price_version: call.detail.priceVersion }),
    ...(pricedBy === undefined ? {} : { priced_by: pricedBy }),
    prices_usd_per_million: pricesOf(call),
    ...(adjustment === 0n ? {} : { reason: call.posted === 'as settled' ? settled : call.posted }),
  }
}

const computedOf = ({ detail }: ChargedCall): Nano => {
  let pico = 0n
  for (const name of usageClasses)
    pico += BigInt(detail?.usage[name] ?? 0) * BigInt(detail?.receipt?.prices[name] ?? 0)
  return nanoFromPicoUp(pico)
}

const usedOf = (usage: Usage): Usage => {
  const used: { [Class in UsageClass]?: number } = {}
  for (const name of sortedClasses) {
    const units = usage[name]
    if (units !== undefined && units > 0) used[name] = units
  }
  return used
}

const pricesOf = ({ detail }: ChargedCall): Record<string, string> => {
  const prices: Record<string, string> = {}
  for (const name of sortedClasses) {
    const price = detail?.receipt?.prices[name]
    if (price !== undefined) prices[name] = perMillionFromPico(price)
  }
  return prices
}

const sorted = (members: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Takes a body piece by piece. */
export type BodyHasher = { readonly update: (piece: Uint8Array) => void; readonly digest: () => string }

export const newBodyHasher = (): BodyHasher => {
  const hasher = new Bun.CryptoHasher('sha256')
  return {
    update: (piece) => void hasher.update(piece),
    digest: () => `sha256:${hasher.digest('hex')}`,
  }
}

export const bodyHash = (body: Uint8Array): string =>
  `sha256:${new Bun.CryptoHasher('sha256').update(body).digest('hex')}`
