/** The headers of a request to a vendor. Built from nothing: no header of the caller reaches a vendor. */
import type { Secret } from '../../core/secret.ts'
import type { Deployment } from '../../routing/deployments.ts'
import { type Condition, NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { meetsAll } from '../../vendors/handled-at.ts'
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

/** Where a request goes; `model` is absent where it is about none. */
type Where = Pick<Deployment, 'setup' | 'secret'> & { readonly model?: Deployment['model'] }

/**
 * Headers with the vendor's credential: its key, or a signature of the request by the vendor's own scheme. Nothing reaches a
 * vendor without them, so whoever asks for them says under which conditions it goes: `NO_CONDITIONS` if nothing of a caller
 * goes with it, or nothing is asked. Throws where the place does not meet them.
 */
export const authorized = (
  where: Where,
  under: readonly Condition[] | undefined,
  request: UnsignedRequest,
): Headers | Promise<Headers> => {
  const { setup, secret } = where
  if (under !== NO_CONDITIONS) mustMeet(where, under)
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

/** What chose the place has seen to this: here nothing leaves, whatever went wrong before. */
const mustMeet = ({ setup, model }: Where, under: readonly Condition[] | undefined): void => {
  if (under === undefined) throw new Error('the conditions of a request to a vendor were not read')
  if (model === undefined || !meetsAll(setup, model, under))
    throw new Error(`a request to ${setup.vendor.id} does not meet ${under.join(', ')}`)
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
