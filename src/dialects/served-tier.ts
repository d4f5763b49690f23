/**
 * The tier in which a vendor served a discounted model: if it was the usual tier, the full price is charged, whatever
 * was requested.
 */
import { isObject, parseJson } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { VendorDialect } from './dialect.ts'
import type { StreamRelay } from './relay.ts'

/** The relay of a stream that also notes the tier; the plain relay if no cheaper tier was requested. */
export const watchingTier = (vendor: VendorDialect, model: Model, relay: StreamRelay): StreamRelay => {
  if (model.cheaper === undefined) return relay
  let tier: string | undefined
  return {
    ...relay,
    follow: (event) => {
      const value = parseJson(event.data)
      if (isObject(value)) tier = vendor.tierOf?.(value) ?? tier
      return relay.follow(event)
    },
    tier: () => tier,
  }
}
