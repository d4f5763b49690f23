/**
 * Sends one-time links to people: by mail if it is set up, else by showing them to the person who asked, if they may
 * see them.
 */
import type { Gateway } from '../gateway/gateway.ts'
import type { Here } from './here.ts'
import { addressOfLink, mintLink } from './links.ts'

type Letter = { readonly to: string; readonly subject: string; readonly text: string }

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

/** Makes a link and mails it; returns the link if no mail was sent. */
export const sendLink = async (
  { gateway, request, settings }: Here,
  { email, lifeMs, subject }: { readonly email: string; readonly lifeMs: number; readonly subject: string },
): Promise<{ readonly sent: boolean; readonly link: string | null }> => {
  const secret = await mintLink(gateway.store.people, { email, now: gateway.clock.now(), lifeMs })
  const link = addressOfLink(settings.origin ?? request.origin, secret)
  const text = `${subject}\n\nThis link signs you in, once:\n${link}\n\nIf you did not expect it, do nothing.\n`
  const sent = await send(gateway, { to: email, subject, text })
  return { sent, link: sent ? null : link }
}
