/**
 * What a receipt says: who called what, what it used, at which prices, what was charged, and which bytes it is about.
 * Never what was asked or answered, nor a label. The amount follows from the other claims (`recompute.ts`).
 */
import {
  decimalFromNano,
  least,
  type Nano,
  nanoFromPicoUp,
  nanoFromSafePicoUp,
  type Pico,
  perMillionFromPico,
} from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type { Usage, UsageClass } from '../core/usage.ts'
import { type AccountId, type ChargedCall, isCreditAccount, isPaymentAccount } from '../ledger/types.ts'
import { type Terms, told } from '../tenancy/terms.ts'

/** Members that are undefined are not there: they are not written. */
export type Claims = {
  readonly aud: 'receipt'
  readonly body_hash?: { readonly request: string; readonly response: string } | undefined
  /** The conditions that were asked, the vendor, and with what it met them. */
  readonly conditions?: Readonly<Record<string, string>> | undefined
  readonly cost: Cost
  /** Turnpike counted, because the vendor did not. */
  readonly estimated: boolean
  /** What the vendor bills the organisation for its own key, by the list price. */
  readonly estimated_vendor_cost_usd?: string | undefined
  readonly exp: number
  /** What guardrails found and did, by side and name. */
  readonly guardrails?: Readonly<Record<string, string>> | undefined
  readonly iat: number
  readonly iss: string
  readonly jti: string
  readonly model?: string | undefined
  readonly payment: Readonly<Record<string, string>>
  readonly request_id: string
  /** The key's id. */
  readonly sub: string
  /** What the call was for, as its caller or its key said. */
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly usage: Usage
  /** Whose key was asked, where the organisation has keys of its own at the vendor: `own` or `house`. */
  readonly vendor_key?: string | undefined
}

type Cost = {
  /** The difference between the amount and what the other claims give, with its reason. */
  readonly adjustment?: string | undefined
  readonly amount: string
  /** What was held for the call, which is never charged more. */
  readonly authorized?: string | undefined
  readonly currency: 'USD'
  readonly price_version?: string | undefined
  /** Who set the price, if it is not the issuer of the receipt: the reseller whose tenant called. */
  readonly priced_by?: string | undefined
  readonly prices_usd_per_million: Readonly<Record<string, string>>
  readonly reason?: 'waived' | 'recovered' | 'corrected' | 'rounded' | undefined
}

/** How long a receipt may be used in a dispute. */
export const RECEIPT_LIFE_SECONDS = 90 * 24 * 60 * 60

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
  // Whose key it was, and what that costs, is between the reseller and the vendor.
  const own = { estimated_vendor_cost_usd: undefined, vendor_key: undefined }
  return { ...claims, ...own, cost: costOf(priced, terms.issuer), jti: `${claims.jti}.price` }
}

/** The claims of a charged call, with the members of every object in alphabetical order. */
export const claimsOf = (issuer: string, call: ChargedCall): Claims => {
  const { detail } = call
  const facts = detail?.receipt
  const settledAt = detail === undefined ? call.at : detail.startedAt + detail.tookMs
  const iat = Math.floor(settledAt / 1000)
  return {
    aud: 'receipt',
    body_hash: facts === undefined ? undefined : { request: facts.requestHash, response: facts.responseHash },
    conditions: detail?.met === undefined ? undefined : sorted(detail.met),
    cost: costOf(call),
    estimated: detail?.estimated ?? true,
    estimated_vendor_cost_usd:
      detail?.vendorEstimate === undefined ? undefined : decimalFromNano(BigInt(detail.vendorEstimate)),
    exp: iat + RECEIPT_LIFE_SECONDS,
    guardrails: detail?.guardrails === undefined ? undefined : sorted(detail.guardrails),
    iat,
    iss: issuer,
    jti: `rcp_${call.callId}`,
    model: detail?.model,
    payment: sorted(facts?.payment ?? { mode: modeOf(call.payer) }),
    request_id: call.callId,
    sub: call.keyId,
    tags: detail?.tags === undefined ? undefined : sorted(detail.tags),
    usage: usedOf(facts === undefined ? {} : (detail?.usage ?? {})),
    vendor_key: detail?.vendorKey,
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
    adjustment: adjustment === 0n ? undefined : decimalFromNano(adjustment),
    amount: decimalFromNano(call.charged),
    authorized: facts === undefined ? undefined : decimalFromNano(facts.authorized),
    currency: 'USD',
    price_version: call.detail?.priceVersion,
    priced_by: pricedBy,
    prices_usd_per_million: pricesOf(call),
    reason: adjustment === 0n ? undefined : call.posted === 'as settled' ? settled : call.posted,
  }
}

/** The classes of a record in alphabetical order, so that claims are already in canonical form and need no sorting. */
const classesOf = (record: Usage): readonly UsageClass[] => {
  const names = Object.keys(record) as UsageClass[]
  return names.length > 1 ? names.sort() : names
}

const computedOf = ({ detail }: ChargedCall): Nano => {
  const usage = detail?.usage ?? {}
  const prices = detail?.receipt?.prices ?? {}
  const names = classesOf(prices)
  let safe = 0
  for (const name of names) safe += (usage[name] ?? 0) * (prices[name] ?? 0)
  // A sum of floats that is safe is exact, and so is each of its parts.
  if (safe <= Number.MAX_SAFE_INTEGER) return nanoFromSafePicoUp(safe)
  let pico = 0n
  for (const name of names) pico += BigInt(usage[name] ?? 0) * BigInt(prices[name] ?? 0)
  return nanoFromPicoUp(pico)
}

const usedOf = (usage: Usage): Usage => {
  const used: { [Class in UsageClass]?: number } = {}
  for (const name of classesOf(usage)) {
    const units = usage[name]
    if (units !== undefined && units > 0) used[name] = units
  }
  return used
}

/** The spellings of unit prices: there are few, and each call names some. */
const spelled = new Map<Pico, string>()
const SPELLED_MOST = 10_000

const spelledOf = (price: Pico): string => {
  const known = spelled.get(price)
  if (known !== undefined) return known
  if (spelled.size >= SPELLED_MOST) spelled.clear()
  const text = perMillionFromPico(price)
  spelled.set(price, text)
  return text
}

const pricesOf = ({ detail }: ChargedCall): Record<string, string> => {
  const prices: Record<string, string> = {}
  const known = detail?.receipt?.prices ?? {}
  for (const name of classesOf(known)) {
    const price = known[name]
    if (price !== undefined) prices[name] = spelledOf(price)
  }
  return prices
}

const sorted = (members: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const entries = Object.entries(members)
  return entries.length < 2 ? members : Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Takes a body piece by piece. */
export type BodyHasher = { readonly update: (piece: Uint8Array) => void; readonly digest: () => string }

export const newBodyHasher = (): BodyHasher => {
  const hasher = new Bun.CryptoHasher('sha256')
  return {
    update: (piece) => void hasher.update(piece),
    digest: () => `sha256:${hasher.digest('hex')}`,
  }
}

export const bodyHash = (body: Uint8Array): string => `sha256:${Bun.SHA256.hash(body, 'hex')}`
