/**
 * Attacks on the server's trust: receipts and events that are signed and yet false, and addresses it is told to fetch.
 */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { unseal } from '../../src/receipts/keys.ts'
import { signingKey, signReceipt } from '../../src/receipts/token.ts'
import { openStore } from '../../src/store/open-store.ts'
import { asked, type Check, chat, echo, must } from './check.ts'
import { ISSUER, SECRET, type Target, WEBHOOK_SECRET } from './target.ts'

const cheap = { cpuMs: 1_500, memoryMb: 120 } as const
const hmac = (secret: string, text: string): string =>
  new Bun.CryptoHasher('sha256', secret).update(text).digest('hex')

const DAY = 24 * 60 * 60
const MONEY = { cost: { amount: '1.00', currency: 'USD' }, usage: {}, payment: {} }

/**
 * Receipts with these claims under the server's own key, as a thief of the key, or a server with a wrong clock, would
 * sign them.
 */
const receiptsOf = async (
  it: Target,
  many: readonly ((now: number) => object)[],
): Promise<readonly string[]> => {
  const store = await openStore({ url: it.databaseUrl })
  const [stored] = await store.receipts.receiptKeys()
  await store.close()
  if (stored === undefined) throw new Error('the server has no key for receipts')
  // As src/gateway/parts/receipt-keys.ts seals it.
  const sealing = Buffer.from(hmac(SECRET, 'turnpike: the secret that seals receipt keys'), 'hex')
  const key = unseal(stored.sealed, stored.kid, sealing)
  if (key === undefined) throw new Error('the key for receipts cannot be opened')
  const now = Math.floor(Date.now() / 1000)
  const claims = { aud: 'receipt', iss: ISSUER, jti: 'j', request_id: 'r', sub: 'k', estimated: false }
  return many.map((of) =>
    signReceipt({ ...claims, ...MONEY, ...of(now) } as never, signingKey(stored.kid, key)),
  )
}

const isValid = async (it: Target, receipt: string): Promise<boolean> => {
  const answer = (await (await it.ask('/api/receipts/verify', { receipt })).json()) as { valid?: unknown }
  return answer.valid === true
}

/** A receipt like the server's own except for these claims; the good one is valid. */
const forged = (name: string, claims: (now: number) => object): Check => ({
  name: `a receipt ${name}`,
  run: async (it) => {
    const good = (now: number) => ({ iat: now - 60, exp: now + DAY })
    const [own = '', bad = ''] = await receiptsOf(it, [good, (now) => ({ ...good(now), ...claims(now) })])
    must(await isValid(it, own), 'a good receipt is not valid')
    must(!(await isValid(it, bad)), 'it is valid')
  },
  ...cheap,
})

const event = (aheadSeconds: number) => {
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type: 'ping', data: { object: {} } })
  const at = Math.floor(Date.now() / 1000) + aheadSeconds
  return { payload, signature: `t=${at},v1=${hmac(WEBHOOK_SECRET, `${at}.${payload}`)}` }
}
const deliver = async (it: Target, { payload, signature }: ReturnType<typeof event>): Promise<number> => {
  const head = `POST /api/webhooks/stripe HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nStripe-Signature: ${signature}\r\nContent-Length: ${payload.length}\r\n\r\n`
  return Number(/HTTP\/1\.1 (\d+)/.exec(await it.raw(head + payload))?.[1])
}

const pictureAt = (url: string) =>
  echo([
    { type: 'text', text: 'what is it?' },
    { type: 'image_url', image_url: { url } },
  ])
/** What the vendor at the operator's own address must never get. */
const inside = [
  'http://127.0.0.1/x.png',
  'http://[::1]/x.png',
  'http://2130706433/x.png',
  'http://169.254.169.254/latest/meta-data',
  'file:///etc/passwd',
]

export const trust: readonly Check[] = [
  forged('of a time to come', (now) => ({ iat: now + DAY, exp: now + 2 * DAY })),
  forged('that never expires', (now) => ({ exp: now + 10_000 * DAY })),
  forged('of another issuer', () => ({ iss: 'https://other.test' })),
  {
    name: "a receipt under somebody else's key",
    run: async (it) => {
      const [own = ''] = await receiptsOf(it, [(now) => ({ iat: now - 60, exp: now + DAY })])
      const { privateKey } = generateKeyPairSync('ed25519')
      const [header = '', payload = ''] = own.split('.')
      const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
      const key = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
      must(!(await isValid(it, signReceipt(claims, signingKey(kid, key)))), 'it is valid')
    },
    ...cheap,
  },
  {
    name: "an event of Stripe's of ten minutes ahead",
    run: async (it) => {
      const [now, ahead, old] = [
        await deliver(it, event(0)),
        await deliver(it, event(600)),
        await deliver(it, event(-86_400)),
      ]
      must(now === 200, `one of now is answered ${now}`)
      must(ahead === 400, `it is answered ${ahead}`)
      must(old === 400, `one of yesterday is answered ${old}`)
    },
    ...cheap,
  },
  {
    name: 'pictures inside the network, for a vendor at an own address',
    run: async (it) => {
      for (const url of inside) await asked(it, chat, { ...pictureAt(url), model: 'hostile/endless' }, 400)
    },
    ...cheap,
  },
  ...[{ data_sources: [{ type: 'azure_search', parameters: {} }] }, { deferred: true }].map(
    (member): Check => ({
      name: `a call with ${Object.keys(member).join()}`,
      run: (it) => asked(it, chat, { ...echo('x', member), model: 'hostile/endless' }, 400),
      ...cheap,
    }),
  ),
]
