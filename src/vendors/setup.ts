/** A vendor as this operator set it up: where to reach it and with which keys. */
import type { Secret } from '../core/secret.ts'
import type { Region } from '../tenancy/conditions.ts'
import type { BatchBucket } from './batches/vendor-batch.ts'
import type { Vendor } from './vendor.ts'

/** Whose call it is: the built-in vendor divides its places by keys. */
type Asker = { readonly keyId: string }

/** The part of `fetch` a vendor needs; the built-in vendor brings its own. */
export type VendorFetch = (url: string, init: RequestInit, asker?: Asker) => Promise<Response>

/** A request before it has its credential. */
export type UnsignedRequest = {
  readonly url: string
  readonly body: Uint8Array
  /** POST, if absent. */
  readonly method?: string
}

/** An address, and who is asked there. */
type Place = {
  readonly baseUrl: string
  readonly authorize: (request: UnsignedRequest) => Promise<Record<string, string>>
}

/** What the operator states of the account at a vendor, such as an agreement; it counts in place of the vendor's documents. */
type StatedHandling = {
  readonly zdr?: boolean | undefined
  readonly noTraining?: boolean | undefined
  readonly region?: Region | undefined
}

export type VendorSetup = {
  readonly vendor: Vendor
  readonly baseUrl: string
  /** One deployment per key; a vendor on localhost may need no key. */
  readonly secrets: readonly Secret[]
  /** For each key, its share of the calls and its priority: lower priorities are asked first. */
  readonly weights?: readonly number[]
  readonly priorities?: readonly number[]
  /** Makes the credential's headers, for vendors whose requests are signed or whose tokens expire. */
  readonly authorize?: (request: UnsignedRequest) => Promise<Record<string, string>>
  readonly stated?: StatedHandling
  /** What the operator has run batches, by the model's name below the vendor's. */
  readonly batches?: Readonly<Record<string, string>>
  /** Where batches are asked for that need a bucket, and the storage that has it; absent without a credential for both. */
  readonly jobs?: Place & { readonly storage: Place }
  readonly bucket?: BatchBucket
  /** Answers in place of the network, for the built-in `local/` vendor. */
  readonly fetch?: VendorFetch
}

/** The vendor as somebody else's keys reach it: what the operator states of its own account is not said of another's. */
export const ofOthers = ({
  weights: _weights,
  priorities: _priorities,
  stated: _stated,
  batches: _batches,
  bucket: _bucket,
  jobs: _jobs,
  ...rest
}: VendorSetup): VendorSetup => rest

/**
 * Where a request goes. A shape may name another host of its vendor; at an address of the operator's own, that path is
 * asked for there, so that no other host gets the key.
 */
export const urlOf = ({ vendor, baseUrl }: Pick<VendorSetup, 'vendor' | 'baseUrl'>, path: string): string => {
  if (!path.startsWith('https://')) return baseUrl + path
  if (baseUrl === vendor.baseUrl) return path
  const below = new URL(vendor.baseUrl).pathname
  const { pathname } = new URL(path)
  return baseUrl.endsWith(below)
    ? baseUrl.slice(0, -below.length) + pathname
    : new URL(pathname, baseUrl).href
}
