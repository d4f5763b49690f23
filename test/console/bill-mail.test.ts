/** Invoices by mail, over a real SMTP server: the PDF arrives as it is downloaded, and a server that refuses is told. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SMTPServer } from 'smtp-server'
import { Secret } from '../../src/core/secret.ts'
import { freePort } from '../free-port.ts'
import { engines } from '../store/engines.ts'
import { PROFILE, type Reseller, startReseller, value } from './bill-rig.ts'
import { ORIGIN } from './rig.ts'

const mails: { readonly to: string; readonly text: string }[] = []
let refuses = false
let server: SMTPServer
let it: Reseller
beforeAll(async () => {
  const port = await freePort()
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        if (refuses) return done(new Error('no room'))
        const to = envelope.rcptTo.map(({ address }) => address).join(' ')
        mails.push({ to, text: Buffer.concat(pieces).toString('utf8') })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const smtp = new Secret(`smtp://127.0.0.1:${port}`)
  const [memory] = engines
  if (memory === undefined) throw new Error('there is no engine')
  it = await startReseller(memory, 1, {
    settings: { smtp, mailFrom: 'Turnpike <console@example.com>', origin: ORIGIN },
  })
  it.november()
  await value(it.owner.ask('PUT', '/biller', PROFILE))
})
afterAll(async () => {
  await it.stop()
  await new Promise<void>((resolve) => server.close(resolve))
})

test('an invoice is mailed with its PDF to the tenant, and answers go to the reseller', async () => {
  const [tenant] = it.tenants
  const { data } = await value(it.owner.ask('POST', '/bills', { month: '2026-10' }))
  const { id } = data[0].bill
  const mail = (body: object = {}) => it.owner.ask('POST', `/bills/${id}/mail`, body)
  expect((await value(mail(), 409)).error.message).toContain('no e-mail address')
  const billing = { name: 'Žižek Ltd', address: 'Praha', email: 'ap@tenant.example' }
  await value(it.owner.ask('PUT', `/tenants/${tenant?.id}/billing`, billing))
  expect((await value(mail())).mailed_at).toBe('2026-11-02T09:00:00.000Z')
  const [sent] = mails
  expect(sent?.to).toBe('ap@tenant.example')
  for (const said of [
    'From: Turnpike <console@example.com>',
    'Reply-To: billing@reseller.example',
    'GS-0001.pdf',
  ])
    expect(sent?.text).toContain(said)
  const attached = sent?.text.split('application/pdf')[1]?.split('\r\n\r\n')[1]?.split('\r\n--')[0]
  const { base64 } = await value(it.owner.ask('GET', `/bills/${id}/pdf`))
  expect(attached?.replaceAll('\r\n', '')).toBe(base64)
  await value(mail({ to: 'other@tenant.example' }))
  expect(mails.map(({ to }) => to)).toEqual(['ap@tenant.example', 'other@tenant.example'])
  refuses = true
  expect((await value(mail(), 503)).error.message).toContain('did not take the mail')
  expect(mails.length).toBe(2)
})
