/** Passkeys, as bodies and answers: the inner form is that of WebAuthn, which the browser and the library read. */
import { z } from 'zod'
import { text } from '../../core/body.ts'
import { instant } from './shared.ts'

const webauthn = z.record(z.string(), z.unknown(), 'must be what the browser answered')

export const passkeyBegun = z
  .object({ options: z.record(z.string(), z.unknown()).describe('Options of WebAuthn, as JSON') })
  .meta({ id: 'ConsolePasskeyBegun' })
export type PasskeyBegun = z.output<typeof passkeyBegun>

export const passkeyBody = z
  .strictObject({ name: text(1, 100, 'must be a name'), response: webauthn })
  .meta({ id: 'ConsolePasskey' })
export const passkeySignInBody = z.strictObject({ response: webauthn }).meta({ id: 'ConsolePasskeySignIn' })

export const passkeys = z
  .object({
    data: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        created_at: instant,
        synced: z.boolean().describe('Whether it is on more than one device'),
      }),
    ),
  })
  .meta({ id: 'ConsolePasskeys' })
export type PasskeysShown = z.output<typeof passkeys>
