/** The headers of a request to a vendor. Built from nothing: no header of the caller reaches a vendor. */
import type { Secret } from '../core/secret.ts'
import type { Outgoing, VendorSetup } from '../vendors/setup.ts'

const schemes = {
  bearer: (key: string) => ({ authorization: `Bearer ${key}` }),
  'x-api-key': (key: string) => ({ 'x-api-key': key }),
  'x-goog-api-key': (key: string) => ({ 'x-goog-api-key': key }),
  'api-key': (key: string) => ({ 'api-key': key }),
} as const

/** Headers with the vendor's credential: its key, or what its own signing makes of the request. */
export const authorized = async (
  setup: VendorSetup,
  secret: Secret | undefined,
  request: Outgoing,
): Promise<Record<string, string>> => {
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    ...setup.vendor.headers,
  }
  if (setup.authorize !== undefined) return { ...headers, ...(await setup.authorize(request)) }
  return secret === undefined
    ? headers
    : { ...headers, ...schemes[setup.vendor.auth ?? 'bearer'](secret.reveal()) }
}
