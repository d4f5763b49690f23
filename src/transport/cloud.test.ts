/** The credentials of cloud vendors: signatures match the published rules, and tokens are fetched once. */
import { expect, test } from 'bun:test'
import { createHash, createHmac, createVerify, generateKeyPairSync } from 'node:crypto'
import { Secret } from '../core/secret.ts'
import { googleTokens } from './google-token.ts'
import { klingTokens } from './kling-token.ts'
import { awsSigner } from './sign-aws.ts'
import { VendorFault } from './vendor-fault.ts'

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()

/** The signature by the published rules: canonical request, string to sign, derived key. */
const signatureOf = (url: URL, headers: Record<string, string>, bodyHash: string, secret: string): string => {
  const [, scope = '', names = ''] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), /.exec(headers.authorization ?? '') ?? []
  const [date = '', region = '', service = ''] = scope.split('/')
  const signed = names
    .split(';')
    .map((name) => `${name}:${name === 'host' ? url.host : headers[name]}\n`)
    .join('')
  const path = url.pathname
    .split('/')
    .map((part) => encodeURIComponent(part))
    .join('/')
  const canonical = ['POST', path, '', signed, names, bodyHash].join('\n')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [region, service, 'aws4_request'].reduce(
    (chain, part) => hmac(chain, part),
    hmac(`AWS4${secret}`, date),
  )
  return createHmac('sha256', key).update(text).digest('hex')
}

test('a request to Bedrock carries the signature of its bytes, path and session', async () => {
  const url = 'https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-x-v1%3A0/converse'
  const body = new TextEncoder().encode('{"messages":[]}')
  const sign = awsSigner({
    id: 'AKIDEXAMPLE',
    secret: new Secret('very-secret'),
    sessionToken: new Secret('session'),
    region: 'eu-west-1',
  })
  const headers = await sign({ url, body })
  expect(headers['x-amz-security-token']).toBe('session')
  expect(headers.authorization).toContain('/eu-west-1/bedrock/aws4_request')
  const bodyHash = headers['x-amz-content-sha256'] ?? sha256(body)
  expect(headers.authorization?.split('Signature=')[1]).toBe(
    signatureOf(new URL(url), headers, bodyHash, 'very-secret'),
  )
})

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = {
  email: 'gateway@project.example',
  privateKey: new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
  tokenUrl: 'http://token.invalid/token',
}

test('one token serves all calls until shortly before it ends', async () => {
  let now = 1_795_000_000_000
  const requests: string[] = []
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    sleep: async () => undefined,
    turn: async () => undefined,
  }
  const headers = googleTokens(account, clock, async (_url, init) => {
    requests.push(String(init.body))
    return Response.json({ access_token: `token-${requests.length}`, expires_in: 3600 })
  })
  const together = await Promise.all([headers(), headers(), headers()])
  expect(together.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer token-1'))
  const jwt = new URLSearchParams(requests[0]).get('assertion') ?? ''
  const [head, claims, signature] = jwt.split('.')
  expect(
    createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature!, 'base64url'),
  ).toBe(true)
  expect(JSON.parse(Buffer.from(claims!, 'base64url').toString())).toMatchObject({
    iss: account.email,
    aud: account.tokenUrl,
    iat: 1_795_000_000,
  })
  now += 3_299_000
  expect(await headers()).toEqual({ authorization: 'Bearer token-1' })
  now += 2_000
  expect(await headers()).toEqual({ authorization: 'Bearer token-1' })
  await Bun.sleep(0)
  expect(await headers()).toEqual({ authorization: 'Bearer token-2' })
  expect(requests).toHaveLength(2)
})

test('while a token is good, calls go on though its service is away or silent', async () => {
  let now = 0
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    sleep: async () => undefined,
    turn: async () => undefined,
  }
  const tried: string[] = []
  let send: () => Promise<Response> = async () => Response.json({ access_token: 'first', expires_in: 3600 })
  const headers = googleTokens(account, clock, (url) => {
    tried.push(url)
    return send()
  })
  await headers()
  now += 3_400_000
  send = () => Promise.reject(new Error('away'))
  expect(await headers()).toEqual({ authorization: 'Bearer first' })
  await Bun.sleep(0)
  send = () => new Promise(() => undefined)
  expect(await headers()).toEqual({ authorization: 'Bearer first' })
  expect(tried).toHaveLength(3)
  now += 200_000
  const late = await Promise.race([headers(), Bun.sleep(10).then(() => 'it waits')])
  expect(late).toBe('it waits')
})

test('a service that breaks off its answer is a fault of the vendor', async () => {
  const clock = {
    now: () => 0,
    monotonicMs: () => 0,
    sleep: async () => undefined,
    turn: async () => undefined,
  }
  const broken = new ReadableStream({ pull: (body) => body.error(new Error('reset')) })
  const headers = googleTokens(account, clock, async () => new Response(broken))
  await expect(headers()).rejects.toBeInstanceOf(VendorFault)
})

test('a token that is refused is a fault of the vendor, and the next call asks again', async () => {
  let status = 401
  const clock = {
    now: () => 0,
    monotonicMs: () => 0,
    sleep: async () => undefined,
    turn: async () => undefined,
  }
  const headers = googleTokens(account, clock, async () => Response.json({ access_token: 't' }, { status }))
  expect(headers()).rejects.toThrow('status 401')
  await headers().catch(() => undefined)
  status = 200
  expect(await headers()).toEqual({ authorization: 'Bearer t' })
})

test('a request to Kling carries a token of half an hour, signed with the secret key', async () => {
  const headers = await klingTokens(
    { access: 'access', secret: new Secret('very-secret') },
    { now: () => 1_800_000_000_500 },
  )()
  const [head = '', claims = '', signature] = (headers.authorization ?? '').replace('Bearer ', '').split('.')
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())
  expect([read(head), read(claims)]).toEqual([
    { alg: 'HS256', typ: 'JWT' },
    { iss: 'access', exp: 1_800_001_800, nbf: 1_799_999_995 },
  ])
  expect(signature).toBe(createHmac('sha256', 'very-secret').update(`${head}.${claims}`).digest('base64url'))
  expect(JSON.stringify(headers)).not.toContain('very-secret')
})
