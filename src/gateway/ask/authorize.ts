/** The headers of a request to a vendor. Built from nothing: no header of the caller reaches a vendor. */
import type { Secret } from '../../core/secret.ts'
import type { UnsignedRequest, VendorSetup } from '../../vendors/setup.ts'

const schemes = {
  bearer: (key: string) => ({ authorization: `Bearer ${key}` }),
  'x-api-key': (key: string) => ({ 'x-api-key': key }),
  'x-goog-api-key': (key: string) => ({ 'x-goog-api-key': key }),
  'api-key': (key: string) => ({ 'api-key': key }),
  'xi-api-key': (key: string) => ({ 'xi-api-key': key }),
  'x-key': (key: string) => ({ 'x-key': key }),
  Token: (key: string) => ({ authorization: `Token ${key}` }),
  Key: (key: string) => ({ authorization: `Key ${key}` }),
  'DeepL-Auth-Key': (key: string) => ({ authorization: `DeepL-Auth-Key ${key}` }),
  plain: (key: string) => ({ authorization: key }),
} as const

type Headers = Readonly<Record<string, string>>

/** Headers that depend only on the vendor's key; built at its first call. */
const made = new WeakMap<VendorSetup, Map<Secret | undefined, Headers>>()

/** Headers with the vendor's credential: its key, or a signature of the request by the vendor's own scheme. */
export const authorized = (
  setup: VendorSetup,
  secret: Secret | undefined,
  request: UnsignedRequest,
): Headers | Promise<Headers> => {
  if (setup.authorize !== undefined) return signed(setup, setup.authorize(request))
  const known = made.get(setup)?.get(secret)
  if (known !== undefined) return known
  const headers =
    secret === undefined
      ? commonOf(setup)
      : { ...commonOf(setup), ...schemes[setup.vendor.auth ?? 'bearer'](secret.reveal()) }
  const ofSetup = made.get(setup) ?? new Map<Secret | undefined, Headers>()
  made.set(setup, ofSetup.set(secret, headers))
  return headers
}

const commonOf = ({ vendor }: VendorSetup): Headers => ({
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  ...vendor.headers,
})

const signed = async (setup: VendorSetup, signing: Promise<Headers>): Promise<Headers> => ({
  ...commonOf(setup),
  ...(await signing),
})
