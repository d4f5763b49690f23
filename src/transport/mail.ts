/** Sends a letter by the operator's mail server. */
import type { Secret } from '../core/secret.ts'

export type Letter = {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly replyTo?: string
  /** Of a letter that may be sent twice: mail programs show those of one id once (RFC 5322, section 3.6.4). */
  readonly messageId?: string
  readonly attachments?: { filename: string; contentType: string; content: Buffer }[]
}

type MailServer = { readonly smtp: Secret; readonly mailFrom: string }

const TIMEOUT_MS = 10_000

/** Rejects unless the server takes the letter. */
export const sendMail = async ({ smtp, mailFrom }: MailServer, letter: Letter): Promise<void> => {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url: smtp.reveal(),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  })
  try {
    await transport.sendMail({ from: mailFrom, ...letter })
  } finally {
    transport.close()
  }
}
