/** Reads a call's stored detail: it was written by this program, perhaps by an older version that stored less. */
import { isObject, type Json } from '../core/json-body.ts'
import { type UsageClass, usageClasses } from '../core/usage.ts'
import type { Tags } from '../tenancy/tags.ts'
import type { FailedTry, ReceiptFacts, UsageDetail } from './types.ts'

/** The detail, or undefined when it is not one. */
export const readDetail = (value: Json): UsageDetail | undefined => {
  if (!isObject(value)) return undefined
  const { keyId, model, vendor, usage, estimated, priceVersion, startedAt, tookMs, firstByteMs, ended } =
    value
  const texts = typeof keyId === 'string' && typeof model === 'string' && typeof vendor === 'string'
  const times = typeof startedAt === 'number' && typeof tookMs === 'number' && typeof firstByteMs === 'number'
  if (!texts || !times || typeof priceVersion !== 'string' || typeof ended !== 'string') return undefined
  const receipt = readFacts(value.receipt)
  const { tries, tags, guardrails, met, vendorKey, vendorEstimate } = value
  return {
    keyId,
    model,
    vendor,
    usage: countsOf(usage),
    estimated: estimated === true,
    priceVersion,
    startedAt,
    tookMs,
    firstByteMs,
    ended,
    ...(tags === undefined ? {} : { tags: readTags(tags) }),
    ...(guardrails === undefined ? {} : { guardrails: readTags(guardrails) }),
    ...(met === undefined ? {} : { met: readTags(met) }),
    ...(tries === undefined ? {} : { tries: readTries(tries) }),
    ...(typeof vendorKey === 'string' ? { vendorKey } : {}),
    ...(typeof vendorEstimate === 'string' ? { vendorEstimate } : {}),
    ...(receipt === undefined ? {} : { receipt }),
  }
}

/** Texts by name: what a call was for, and how its conditions were met. */
export const readTags = (value: Json): Tags =>
  Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([name, text]) => [name, String(text)]))

/** The attempts that failed, of a call that was charged or was not. */
export const readTries = (value: Json): readonly FailedTry[] =>
  (Array.isArray(value) ? value : []).flatMap((one) =>
    isObject(one)
      ? [
          {
            vendor: String(one.vendor),
            outcome: String(one.outcome),
            tookMs: Number(one.tookMs),
            ...(typeof one.status === 'number' ? { status: one.status } : {}),
          },
        ]
      : [],
  )

const readFacts = (value: Json | undefined): ReceiptFacts | undefined => {
  if (!isObject(value) || !isObject(value.payment)) return undefined
  const { prices, authorized, requestHash, responseHash } = value
  if (typeof authorized !== 'string' || !/^\d{1,19}$/.test(authorized)) return undefined
  if (typeof requestHash !== 'string' || typeof responseHash !== 'string') return undefined
  const payment = Object.entries(value.payment).map(([name, text]) => [name, String(text)])
  return {
    prices: countsOf(prices),
    authorized: BigInt(authorized),
    payment: Object.fromEntries(payment),
    requestHash,
    responseHash,
  }
}

/** Units or prices by usage class. */
const countsOf = (value: Json | undefined): { readonly [Class in UsageClass]?: number } => {
  const counts: { [Class in UsageClass]?: number } = {}
  if (!isObject(value)) return counts
  for (const name of usageClasses) {
    const count = value[name]
    if (typeof count === 'number' && Number.isSafeInteger(count)) counts[name] = count
  }
  return counts
}
