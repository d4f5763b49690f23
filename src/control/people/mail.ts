/**
 * Mail, and one-time links for people: mailed if mail is set up, else shown to the person who asked, if they may see
 * them.
 */
import { z } from 'zod'
import { type Letter, sendMail } from '../../transport/mail.ts'
import type { Control } from '../act.ts'
import { addressOfLink, mintLink } from './links.ts'
import type { Proof } from './proof.ts'

type Sending = Pick<Control, 'store' | 'clock' | 'origin' | 'console' | 'log'>
/** What became of a one-time link that was made for somebody. */
export const linkGiven = {
  sent: z.boolean().describe('Whether a mail was sent'),
  link: z.string().nullable().describe('The one-time link, where the server has no mail; shown only now'),
  told: z.string().describe('The same in a sentence, for people'),
}
type LinkGiven = z.output<z.ZodObject<typeof linkGiven>>

/** Whether the mail server took the letter. */
export const sendLetter = async (
  { console: settings, log }: Pick<Sending, 'console' | 'log'>,
  letter: Letter,
): Promise<boolean> => {
  if (settings?.smtp === undefined) return false
  try {
    await sendMail({ smtp: settings.smtp, mailFrom: settings.mailFrom }, letter)
    return true
  } catch (error) {
    log?.warn('a mail of the console was not sent', { error: String(error) })
    return false
  }
}

const SHOWN = 'It signs them in once, within seven days, and is shown only now.'
const NOT_SENT =
  'The mail server did not take the mail; the log says why. Once it works, they ask for a link on the sign-in page.'

type Sent = {
  readonly email: string
  readonly lifeMs: number
  readonly subject: string
  /** What its use proves where it is shown; undefined if who sees it may be somebody else than the owner. */
  readonly proves?: Proof | undefined
}

/**
 * Makes a link and mails it; without mail it returns the link, to be shown to the person who asked. A link that should
 * have been mailed is never shown: whoever has it is taken for the owner of the address. Throws if mail is set up
 * without an origin, because the host of a request may be anybody's.
 */
export const sendLink = async (
  from: Sending,
  { email, lifeMs, subject, proves: shownProves }: Sent,
): Promise<LinkGiven> => {
  const mailed = from.console?.smtp !== undefined
  if (mailed && from.console?.origin === undefined) throw new Error('mail is set up without CONSOLE_ORIGIN')
  const proves = mailed ? ({ how: 'mail', by: email } as const) : shownProves
  const secret = await mintLink(from.store.people, { email, now: from.clock.now(), lifeMs, proves })
  const link = addressOfLink(from.origin ?? '', secret)
  if (!mailed) return { sent: false, link, told: SHOWN }
  const text = `${subject}\n\nThis link signs you in, once:\n${link}\n\nIf you did not expect it, do nothing.\n`
  const sent = await sendLetter(from, { to: email, subject, text })
  return { sent, link: null, told: sent ? 'A link is on its way to them by mail.' : NOT_SENT }
}
