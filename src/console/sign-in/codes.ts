/** Codes of an authenticator app, and backup codes, as the sign-in library checks them; each works once. */

import { takeCode } from '../../control/people/attempts.ts'
import { refuse } from '../../core/refusal.ts'
import type { Here } from '../here.ts'
import { signInFailed, wrongSignIn } from './credentials.ts'
import { apiOf, headersOf } from './session-parts.ts'

export const codeRequired = () => refuse('code_required', 'Enter the code of your authenticator app.')

type Brought = { readonly personId: string; readonly code: string; readonly cookie: string }

/**
 * Checks the code for whom the cookie names: somebody between password and code, or a session. Returns the library's
 * headers. Throws the refusal of a wrong code, and of one that was used before.
 */
export const checkCode = async (here: Here, { personId, code, cookie }: Brought): Promise<Headers> => {
  if (!(await takeCode(here, personId, code))) throw signInFailed()
  const api = await apiOf(here)
  const asked = { body: { code }, headers: headersOf(here.request, cookie), returnHeaders: true } as const
  const checked = code.length === 6 ? api.verifyTOTP(asked) : api.verifyBackupCode(asked)
  return (await checked.catch(wrongSignIn)).headers
}
