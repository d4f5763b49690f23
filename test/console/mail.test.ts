/** Mail of the console, by a real SMTP server: sign-up, links, a reset, invitations. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SMTPServer } from 'smtp-server'
import { Secret } from '../../src/core/secret.ts'
import { freePort } from '../free-port.ts'
import { jsonOf } from '../server/harness.ts'
import { until } from '../until.ts'
import { ORIGIN, PASSWORD, startConsole } from './rig.ts'

type Mail = { readonly to: string; readonly from: string; readonly text: string }

const mails: Mail[] = []
let server: SMTPServer
let smtp: Secret
let it: Awaited<ReturnType<typeof startConsole>>

/** The text that a mail program shows of quoted-printable. */
const decoded = (text: string): string =>
  text
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

beforeAll(async () => {
  const port = await freePort()
  server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      username === 'turnpike' && password === 'p@ss'
        ? done(null, { user: username })
        : done(new Error('not you')),
    onData: (stream, { envelope }, done) => {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address).join(' ')
        mails.push({ to, from, text: decoded(Buffer.concat(pieces).toString('utf8')) })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  smtp = new Secret(`smtp://turnpike:p%40ss@127.0.0.1:${port}`)
  it = await startConsole({
    settings: {
      signUp: 'open',
      smtp,
      mailFrom: 'Turnpike <console@example.com>',
      origin: ORIGIN,
    },
  })
})
afterAll(async () => {
  await it.stop()
  await new Promise<void>((resolve) => server.close(resolve))
})

const somebody = () => `p${crypto.randomUUID()}@example.com`
const mailsTo = (email: string) => mails.filter(({ to }) => to === email)
/** The secret of the link in the newest mail to an address, once this many have come. */
const linkTo = async (email: string, count = 1): Promise<string> => {
  await until(() => mailsTo(email).length === count)
  return (
    /http:\/\/turnpike\.test\/console\/link#([\w-]{43})/.exec(mailsTo(email).at(-1)?.text ?? '')?.[1] ?? ''
  )
}
const ask = (path: string, body: object) => it.stranger('POST', path, body)

test('who signs up proves the address by a link, and owns an organisation of their own', async () => {
  const email = somebody()
  const body = { email, name: 'Ada', organisation: 'Engines & Sons' }
  expect((await ask('/session/sign-up', body)).status).toBe(200)
  const token = await linkTo(email)
  expect(mailsTo(email)[0]?.from).toBe('console@example.com')
  const signed = await ask('/session/link', { token, password: PASSWORD })
  expect(signed.status).toBe(200)
  const session = await jsonOf(await it.withCookie(it.cookieOf(signed))('GET', '/session'))
  expect(session.organisation).toMatchObject({ name: 'Engines & Sons', role: 'owner' })
  expect((await ask('/session/link', { token })).status).toBe(401)
  // Once more with the same address: the answer is the same, and no second organisation is made.
  const again = await ask('/session/sign-up', { ...body, organisation: 'Mine now' })
  expect([again.status, await again.text()]).toEqual([200, '{"done":true}'])
  await linkTo(email, 2)
  const [member, ...others] = await it.store.members.list({ personId: session.person.id })
  expect([member?.role, others]).toEqual(['owner', []])
})

test('a link is mailed to who is known, and the answer does not tell who is', async () => {
  const [known, unknown] = [somebody(), somebody()]
  const visitor = await it.visit(known, 'owner')
  const answers = []
  for (const email of [unknown, known]) {
    const response = await ask('/session/ask-link', { email })
    answers.push([response.status, await response.text()])
  }
  expect(answers[0]).toEqual(answers[1])
  const token = await linkTo(known)
  expect(mailsTo(unknown)).toEqual([])
  // A forgotten password: the link sets a new one, and all other sessions end.
  const reset = await ask('/session/link', { token, password: 'an entirely new one' })
  expect(reset.status).toBe(200)
  expect((await visitor.ask('GET', '/keys')).status).toBe(401)
  expect((await ask('/session/password', { email: known, password: PASSWORD })).status).toBe(401)
  expect((await ask('/session/password', { email: known, password: 'an entirely new one' })).status).toBe(200)
})

test('an invitation comes by mail and is shown to nobody else', async () => {
  const owner = await it.visit(somebody(), 'owner')
  const email = somebody()
  const invited = await jsonOf(await owner.ask('POST', '/team', { email, role: 'viewer' }))
  expect(invited).toMatchObject({ sent: true, link: null })
  const signed = await ask('/session/link', { token: await linkTo(email), password: PASSWORD })
  const session = await jsonOf(await it.withCookie(it.cookieOf(signed))('GET', '/session'))
  expect(session.organisation).toMatchObject({ id: 'org_test', role: 'viewer' })
})

test('a mailed link begins with the console’s own address, whatever host the request names', async () => {
  const email = somebody()
  await it.visit(email, 'owner')
  const evil = { host: 'evil.example', origin: 'http://evil.example' }
  // A page elsewhere is refused; a program may say what it likes, and gets nothing of it.
  expect((await it.stranger('POST', '/session/ask-link', { email }, evil)).status).toBe(403)
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  expect((await it.stranger('POST', '/session/ask-link', { email }, headers)).status).toBe(200)
  expect(await linkTo(email)).toMatch(/^[\w-]{43}$/)
  expect(mailsTo(email)[0]?.text).not.toContain('evil')
})

test('without an address of its own the console mails nothing', async () => {
  const other = await startConsole({ settings: { smtp, signUp: 'open' } })
  try {
    const email = somebody()
    const owner = await other.visit(email, 'owner')
    expect((await other.stranger('POST', '/session/ask-link', { email })).status).toBe(200)
    const invited = await owner.ask('POST', '/team', { email: somebody(), role: 'viewer' })
    expect(invited.status).toBe(500)
    expect(mailsTo(email)).toEqual([])
  } finally {
    await other.stop()
  }
})

test('where the mail server takes no mail, the link is shown to nobody', async () => {
  const port = await freePort()
  const other = await startConsole({
    settings: { signUp: 'invite', smtp: new Secret(`smtp://127.0.0.1:${port}`), origin: ORIGIN },
  })
  try {
    const owner = await other.visit(somebody(), 'owner')
    const invited = await jsonOf(await owner.ask('POST', '/team', { email: somebody(), role: 'viewer' }))
    expect(invited).toMatchObject({ sent: false, link: null })
  } finally {
    await other.stop()
  }
})
