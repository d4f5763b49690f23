/** Passkeys, as bodies and answers: the inner form is that of WebAuthn, which the browser and the library read. */
import { z } from 'zod'
import { line, namedObject, namedStrict } from '../../core/body.ts'
import { instant } from './shared.ts'

const webauthn = z.record(z.string(), z.unknown(), 'must be what the browser answered')

export const passkeyBegun = namedObject('ConsolePasskeyBegun', {
  options: z.record(z.string(), z.unknown()).describe('Options of WebAuthn, as JSON'),
})
export type PasskeyBegun = z.output<typeof passkeyBegun>

export const passkeyBody = namedStrict('ConsolePasskey', {
  name: line(1, 100, 'must be a name'),
  response: webauthn,
})
export const passkeySignInBody = namedStrict('ConsolePasskeySignIn', { response: webauthn })

export const passkeys = namedObject('ConsolePasskeys', {
  data: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      created_at: instant,
      synced: z.boolean().describe('Whether it is on more than one device'),
    }),
  ),
})
export type PasskeysShown = z.output<typeof passkeys>
