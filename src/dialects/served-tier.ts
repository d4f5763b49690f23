/** The tier in which a vendor served a discounted model: the usual tier is billed in full, whatever was asked for. */
import { isObject, parseJson } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { VendorDialect } from './dialect.ts'
import type { StreamRelay } from './relay.ts'

/** The relay of a stream that also notes the tier; the relay itself where no cheaper one was asked for. */
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
