/**
 * Whether a vendor takes a key, asked at its list of models, which costs nothing. The list is asked for without a key as
 * well: where everybody may read it, it says nothing of a key.
 */

import type { Secret } from '../../core/secret.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { authorized } from './authorize.ts'

const ANSWER_MS = 10_000

/** Some vendors call a wrong key a wrong request. */
const REFUSALS = [400, 401, 403]

/** The status of the vendor's answer; undefined if there is none in time. */
const statusOf = async (setup: VendorSetup, secret: Secret | undefined): Promise<number | undefined> => {
  const url = `${setup.baseUrl}/models`
  const request = { url, body: new Uint8Array() }
  try {
    const response = await (setup.fetch ?? fetch)(url, {
      headers: await authorized({ setup, secret }, NO_CONDITIONS, request),
      signal: AbortSignal.timeout(ANSWER_MS),
      redirect: 'error',
    })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}

/** `unknown`: the vendor is not reached, has no such list, or gives it to everybody. */
export const tryKey = async (
  setup: VendorSetup,
  secret: Secret,
): Promise<'taken' | 'refused' | 'unknown'> => {
  const [withKey, without] = await Promise.all([statusOf(setup, secret), statusOf(setup, undefined)])
  if (withKey === undefined || without === undefined) return 'unknown'
  if (REFUSALS.includes(withKey)) return 'refused'
  return withKey < 300 && REFUSALS.includes(without) ? 'taken' : 'unknown'
}
