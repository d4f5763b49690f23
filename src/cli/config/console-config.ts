/** From settings to the console: its own address, and what mail and a company's sign-in need. */
import type { ConsoleSettings } from '../../gateway/parts/gateway.ts'
import { bad, together } from '../../settings/bad-setting.ts'

/**
 * Checks the settings that only make sense together. With mail or a company's sign-in the origin is always set: links
 * and the way back from a provider carry secrets, and whoever sends a request could name another host in it. Throws
 * BadSetting.
 */
export const consoleConfigOf = (
  settings: ConsoleSettings,
  { publicUrl }: { readonly publicUrl: string | undefined },
): ConsoleSettings => {
  const { smtp, oidcIssuer, oidcClientId } = settings
  const named = settings.origin ?? publicUrl
  together({
    pair: () => {
      if ((oidcIssuer === undefined) !== (oidcClientId === undefined))
        bad('OIDC_ISSUER and OIDC_CLIENT_ID are of no use without each other: set both or none')
    },
    mail: () => {
      if (smtp !== undefined && named === undefined)
        bad('SMTP_URL needs CONSOLE_ORIGIN (or PUBLIC_URL): the address that links in mails begin with')
    },
    company: () => {
      if (oidcIssuer !== undefined && named === undefined)
        bad(
          'OIDC_ISSUER needs CONSOLE_ORIGIN (or PUBLIC_URL): the address that the provider sends people back to',
        )
    },
  })
  return {
    ...settings,
    origin:
      named === undefined || (smtp ?? oidcIssuer) === undefined ? settings.origin : new URL(named).origin,
  }
}
