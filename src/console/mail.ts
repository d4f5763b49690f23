/**
 * Gives one-time links to people: by mail if it is set up, else by showing them to the person who asked, if they may
 * see them.
 */
import type { Gateway } from '../gateway/gateway.ts'
import type { Here } from './here.ts'
import { addressOfLink, mintLink } from './links.ts'
import type { Proof } from './proof.ts'
import type { LinkGiven } from './schema/shared.ts'

type Letter = { readonly to: string; readonly subject: string; readonly text: string }

/** Whether the mail server took the letter. */
const send = async ({ console: settings, log }: Gateway, letter: Letter): Promise<boolean> => {
  if (settings?.smtp === undefined) return false
  const { createTransport } = await import('nodemailer')
  const transport = createTransport(settings.smtp.reveal())
  try {
    await transport.sendMail({ from: settings.mailFrom, ...letter })
    return true
  } catch (error) {
    log.warn('a mail of the console was not sent', { error: String(error) })
    return false
  } finally {
    transport.close()
  }
}

const SHOWN = 'It signs them in once, within seven days, and is shown only now.'
const NOT_SENT =
  'The mail server did not take the mail; the log says why. Once it works, they ask for a link on the sign-in page.'

/** Operators vouch for whom they give a link to. */
const byOperator = ({ session }: Here): Proof | undefined =>
  session?.operator === true ? { how: 'operator', by: session.email } : undefined

/**
 * Makes a link and mails it; without mail it returns the link, to be shown to the person who asked. A link that should
 * have been mailed is never shown: whoever has it is taken for the owner of the address. Throws if mail is set up
 * without an origin, because the host of a request may be anybody's.
 */
export const sendLink = async (
  here: Here,
  { email, lifeMs, subject }: { readonly email: string; readonly lifeMs: number; readonly subject: string },
): Promise<LinkGiven> => {
  const { gateway, request, settings } = here
  const mailed = settings.smtp !== undefined
  if (mailed && settings.origin === undefined) throw new Error('mail is set up without CONSOLE_ORIGIN')
  const proves = mailed ? ({ how: 'mail', by: email } as const) : byOperator(here)
  const secret = await mintLink(gateway.store.people, { email, now: gateway.clock.now(), lifeMs, proves })
  const link = addressOfLink(request.origin, secret)
  if (!mailed) return { sent: false, link, told: SHOWN }
  const text = `${subject}\n\nThis link signs you in, once:\n${link}\n\nIf you did not expect it, do nothing.\n`
  const sent = await send(gateway, { to: email, subject, text })
  return { sent, link: null, told: sent ? 'A link is on its way to them by mail.' : NOT_SENT }
}
