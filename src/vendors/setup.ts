/** A vendor as this operator set it up: where to reach it and with which keys. */
import type { Secret } from '../core/secret.ts'
import type { Vendor } from './vendor.ts'

/** The part of `fetch` a vendor needs; the built-in vendor brings its own. */
export type VendorFetch = (url: string, init: RequestInit) => Promise<Response>

export type VendorSetup = {
  readonly vendor: Vendor
  readonly baseUrl: string
  /** One deployment a key; a vendor on localhost may need none. */
  readonly secrets: readonly Secret[]
  /** Answers in place of the network: the built-in `local/` vendor. */
  readonly fetch?: VendorFetch
}
