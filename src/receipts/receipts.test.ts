/** Receipts: the amount follows from the claims, and only what we signed, as we signed it, is valid. */
import { describe, expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import { canonicalJson } from '../core/canonical.ts'
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'
import type { Price, UnitPrices } from '../core/model.ts'
import { decimalFromNano, least } from '../core/money.ts'
import { type Usage, usageClasses } from '../core/usage.ts'
import type { ChargedCall } from '../ledger/types.ts'
import { chargeFor, unitPrices } from '../pricing/charge.ts'
import { isTagName, isTagValue, TAGS_MAX } from '../tenancy/tags.ts'
import { claimsOf, RECEIPT_LIFE_SECONDS } from './claims.ts'
import { base64url, jwksOf, publicKeyOf, readJwks, seal, thumbprintOf, unseal } from './keys.ts'
import { recompute, recomputes } from './recompute.ts'
import { signingKey, signReceipt, verifyReceipt } from './token.ts'

const NOW = Date.UTC(2026, 10, 21)
const seconds = Math.floor(NOW / 1000)

const newPair = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const read = publicKeyOf(String(publicKey.export({ format: 'jwk' }).x))
  if (read === undefined) throw new Error('no key')
  return { ...read, privateKey, signing: signingKey(read.kid, privateKey) }
}
const ours = newPair()
const foreign = newPair()
const keys: ReadonlyMap<string, KeyObject> = new Map([[ours.kid, ours.key]])

type Made = { price: Price; usage: Usage; authorized?: bigint; charged?: bigint; more?: Partial<ChargedCall> }

const call = ({ price, usage, authorized = 10n ** 15n, charged, more = {} }: Made): ChargedCall => ({
  callId: '019a0000-0000-7000-8000-000000000001',
  keyId: 'key_1',
  charged: charged ?? least(chargeFor(price, usage), authorized),
  payer: 'wal_1',
  at: NOW,
  posted: 'as settled',
  detail: {
    keyId: 'key_1',
    model: 'mock/small',
    vendor: 'mock',
    usage,
    estimated: false,
    priceVersion: price.version,
    startedAt: NOW - 1_500,
    tookMs: 1_500,
    firstByteMs: 20,
    ended: 'ok',
    receipt: {
      prices: unitPrices(price, usage),
      authorized,
      payment: { transaction: '0x1', mode: 'x402' },
      requestHash: `sha256:${'0'.repeat(64)}`,
      responseHash: `sha256:${'f'.repeat(64)}`,
    },
  },
  ...more,
})

const price: Price = { rates: { input: 1_000_000, output: 10_000_000 }, tiers: [], version: 'test-1' }
const usual = claimsOf('https://turnpike.test', call({ price, usage: { input: 10, output: 5 } }))
const token = signReceipt(usual, ours.signing)
const [header = '', payload = '', signature = ''] = token.split('.')

const known = { keys, issuers: ['https://turnpike.test', 'https://before.test'] }
const verdictOn = (text: string, now = NOW) => verifyReceipt(text, known, now)
const errorOf = (text: string) => {
  const verdict = verdictOn(text)
  return verdict.valid ? 'valid' : verdict.error
}
const parsed = (text: string): JsonObject => {
  const value = parseJson(text)
  if (!isObject(value)) throw new Error('no object')
  return value
}

describe('claims', () => {
  const count = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5_000_000 }))
  const pico = fc.integer({ min: 0, max: 2_000_000_000 })
  const byClass = <T>(each: fc.Arbitrary<T>) =>
    fc.record(Object.fromEntries(usageClasses.map((name) => [name, each])), { requiredKeys: [] })
  const prices: fc.Arbitrary<Price> = fc.record({
    rates: byClass(pico) as fc.Arbitrary<UnitPrices>,
    tiers: fc.array(
      fc.record({ aboveInputTokens: fc.integer({ min: 0, max: 9_000_000 }), rates: byClass(pico) }),
      { maxLength: 2 },
    ),
    version: fc.string(),
  })
  const holds = fc.bigInt({ min: 0n, max: 10n ** 16n })

  test('the amount of every receipt follows from its own claims, and is what was charged', () => {
    let capped = 0
    fc.assert(
      fc.property(prices, byClass(count), holds, (listed, usage, authorized) => {
        const charge = chargeFor(listed, usage)
        if (charge > authorized) capped++
        const claims = parsed(JSON.stringify(claimsOf('i', call({ price: listed, usage, authorized }))))
        expect(recompute(claims)).toBe(least(charge, authorized))
        expect(recomputes(claims)).toBe(true)
        expect(claims.cost).not.toHaveProperty('adjustment')
      }),
      { numRuns: 2_000 },
    )
    expect(capped).toBeGreaterThan(20)
  })

  test('also of a call whose charge the ledger set otherwise; the difference is named', () => {
    const charges = fc.bigInt({ min: 0n, max: 10n ** 13n })
    const postings = fc.constantFrom('as settled' as const, 'recovered' as const, 'waived' as const)
    fc.assert(
      fc.property(prices, byClass(count), charges, postings, (listed, usage, charged, posted) => {
        const made = call({ price: listed, usage, charged, more: { posted } })
        const claims = parsed(JSON.stringify(claimsOf('i', made)))
        expect(recompute(claims)).toBe(charged)
        expect(isObject(claims.cost) && claims.cost.amount).toBe(decimalFromNano(charged))
        expect(isObject(claims.cost) && claims.cost.reason === undefined).toBe(
          charged === least(chargeFor(listed, usage), 10n ** 15n),
        )
      }),
      { numRuns: 500 },
    )
    const { detail: _lost, ...without } = call({
      price,
      usage: {},
      charged: 7n,
      more: { posted: 'recovered' },
    })
    const claims = parsed(JSON.stringify(claimsOf('i', without)))
    expect(claims.cost).toMatchObject({
      amount: '0.000000007',
      adjustment: '0.000000007',
      reason: 'recovered',
    })
    expect(recomputes(claims)).toBe(true)
    expect(claims.payment).toEqual({ mode: 'wallet' })
    expect(claimsOf('i', { ...without, payer: 'credit:wal_1' }).payment).toEqual({ mode: 'mpp' })
  })

  test('a changed number no longer recomputes', () => {
    const claims = parsed(JSON.stringify(usual))
    expect(recomputes(claims)).toBe(true)
    expect(recomputes({ ...claims, usage: { input: 11, output: 5 } })).toBe(false)
    expect(recomputes({ ...claims, usage: { input: 10, output: 5, reasoning: 1 } })).toBe(false)
    expect(recomputes({ ...claims, usage: { input: 10.5, output: 5 } })).toBe(false)
    expect(recomputes({ ...claims, cost: { ...usual.cost, amount: '0.00007' } })).toBe(false)
  })

  test('they are written in canonical form: one text for one set of claims', () => {
    fc.assert(
      fc.property(prices, byClass(count), holds, (listed, usage, authorized) => {
        const claims = claimsOf('i', call({ price: listed, usage, authorized }))
        expect(JSON.stringify(claims)).toBe(canonicalJson(parsed(JSON.stringify(claims))))
      }),
    )
  })

  test('they say who, what, how much and until when', () => {
    expect(usual).toEqual({
      aud: 'receipt',
      body_hash: { request: `sha256:${'0'.repeat(64)}`, response: `sha256:${'f'.repeat(64)}` },
      cost: {
        amount: '0.00006',
        authorized: '1000000',
        currency: 'USD',
        price_version: 'test-1',
        prices_usd_per_million: { input: '1', output: '10' },
      },
      estimated: false,
      exp: seconds + RECEIPT_LIFE_SECONDS,
      iat: seconds,
      iss: 'https://turnpike.test',
      jti: 'rcp_019a0000-0000-7000-8000-000000000001',
      model: 'mock/small',
      payment: { mode: 'x402', transaction: '0x1' },
      request_id: '019a0000-0000-7000-8000-000000000001',
      sub: 'key_1',
      usage: { input: 10, output: 5 },
    })
  })
})

describe('tokens', () => {
  const signedBy = (key: KeyObject, head: object | string, claims: object | string = usual): string => {
    const text = (part: object | string) => base64url(typeof part === 'string' ? part : JSON.stringify(part))
    const data = `${text(head)}.${text(claims)}`
    return `${data}.${base64url(sign(null, Buffer.from(data), key))}`
  }
  const good = { alg: 'EdDSA', kid: ours.kid, typ: 'receipt+jwt' }

  test('what was signed is valid, with its claims, and the same claims give the same token', () => {
    expect(verdictOn(token)).toEqual({ valid: true, kid: ours.kid, claims: parsed(JSON.stringify(usual)) })
    expect(signReceipt(usual, ours.signing)).toBe(token)
    expect(verdictOn(signedBy(ours.privateKey, good)).valid).toBe(true)
  })

  test('no bit of any part can be flipped', () => {
    const bytes = Buffer.from(token)
    for (let at = 0; at < bytes.length; at++)
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit)
        const error = errorOf(flipped.toString('latin1'))
        expect(error).toMatch(/^(malformed_jwt|signature_mismatch)$/)
      }
    for (const [index, part] of [header, payload, signature].entries()) {
      const raw = Buffer.from(part, 'base64url')
      for (let at = 0; at < raw.length; at++)
        for (let bit = 0; bit < 8; bit++) {
          const flipped = Buffer.from(raw)
          flipped[at] = (flipped[at] ?? 0) ^ (1 << bit)
          const parts = [header, payload, signature].with(index, base64url(flipped))
          // A header that is no longer JSON is malformed; any other change breaks the signature.
          expect(errorOf(parts.join('.'))).toMatch(
            index === 0 ? /^(malformed_jwt|signature_mismatch)$/ : /^signature_mismatch$/,
          )
        }
    }
  })

  test('a text that is no token is malformed', () => {
    for (const text of [
      '',
      'x',
      'a.b',
      'a.b.c.d',
      '..',
      `${header}..${signature}`,
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature}=`,
      ` ${token}`,
      `${token}\n`,
      `${header}.${payload}.${signature}\0`,
      `${base64url('[]')}.${payload}.${signature}`,
      `${base64url('{')}.${payload}.${signature}`,
      `${base64url(new Uint8Array([0x7b, 0xff, 0x7d]))}.${payload}.${signature}`,
      `${header}.${payload.replace(/.$/, '+')}.${signature}`,
      `${header}.${'A'.repeat(33_000)}.${signature}`,
      signedBy(ours.privateKey, good, '"text"'),
      signedBy(ours.privateKey, good, 'not json'),
      JSON.stringify({ payload, signatures: [] }),
    ])
      expect([text, errorOf(text)]).toEqual([text, 'malformed_jwt'])
  })

  test('a signature in another spelling of its bytes is refused', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = letters.indexOf(signature.at(-1) ?? '')
    const twin = `${header}.${payload}.${signature.slice(0, -1)}${letters[last ^ 1]}`
    expect(Buffer.from(twin.split('.')[2] ?? '', 'base64url')).toEqual(Buffer.from(signature, 'base64url'))
    expect(errorOf(twin)).toBe('malformed_jwt')
  })

  test('no other algorithm is taken, whatever the header says', () => {
    const hmac = (secret: string | Buffer, alg: string) => {
      const data = `${base64url(JSON.stringify({ ...good, alg }))}.${payload}`
      return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
    }
    const x = Buffer.from(ours.x, 'base64url')
    const pem = String(ours.key.export({ format: 'pem', type: 'spki' }))
    for (const [name, forged] of [
      ['none', `${base64url(JSON.stringify({ ...good, alg: 'none' }))}.${payload}.${base64url('x')}`],
      [
        'none, with our signature',
        `${base64url(JSON.stringify({ ...good, alg: 'none' }))}.${payload}.${signature}`,
      ],
      ['HS256 under the public key', hmac(x, 'HS256')],
      ['HS256 under its PEM', hmac(pem, 'HS256')],
      ['HMAC that claims EdDSA', hmac(x, 'EdDSA')],
      ['Ed25519, rightly signed', signedBy(ours.privateKey, { ...good, alg: 'Ed25519' })],
      ['eddsa, rightly signed', signedBy(ours.privateKey, { ...good, alg: 'eddsa' })],
      ['RS256, rightly signed', signedBy(ours.privateKey, { ...good, alg: 'RS256' })],
      ['no alg', signedBy(ours.privateKey, { kid: good.kid, typ: good.typ })],
    ] as const)
      expect([name, errorOf(forged)]).toEqual([name, 'signature_mismatch'])
    expect(errorOf(`${base64url(JSON.stringify({ ...good, alg: 'none' }))}.${payload}.`)).toBe(
      'malformed_jwt',
    )
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    expect(verifyReceipt(token, { ...known, keys: new Map([[ours.kid, p256.publicKey]]) }, NOW)).toEqual({
      valid: false,
      error: 'signature_mismatch',
    })
  })

  test('only our keys by their names, only this type, only these header members, only receipts', () => {
    for (const [name, forged] of [
      ['foreign key', signReceipt(usual, foreign.signing)],
      ['foreign key under our name', signedBy(foreign.privateKey, good)],
      ['our key under another name', signedBy(ours.privateKey, { ...good, kid: foreign.kid })],
      ['no name', signedBy(ours.privateKey, { alg: 'EdDSA', typ: good.typ })],
      ['a name from the prototype', signedBy(ours.privateKey, { ...good, kid: '__proto__' })],
      ['typ JWT', signedBy(ours.privateKey, { ...good, typ: 'JWT' })],
      ['typ of a session', signedBy(ours.privateKey, { ...good, typ: 'at+jwt' })],
      ['no typ', signedBy(ours.privateKey, { alg: 'EdDSA', kid: ours.kid })],
      ['crit', signedBy(ours.privateKey, { ...good, crit: ['exp'] })],
      ['jwk', signedBy(foreign.privateKey, { ...good, jwk: jwksOf([foreign]).keys[0] })],
      ['jku', signedBy(ours.privateKey, { ...good, jku: 'https://evil.test' })],
      ['b64', signedBy(ours.privateKey, { ...good, b64: false })],
      ['another audience', signedBy(ours.privateKey, good, { ...usual, aud: 'session' })],
      ['no jti', signedBy(ours.privateKey, good, { ...usual, jti: undefined })],
      ['no iat', signedBy(ours.privateKey, good, { ...usual, iat: undefined })],
      ['no exp', signedBy(ours.privateKey, good, { ...usual, exp: undefined })],
      ['exp as text', signedBy(ours.privateKey, good, { ...usual, exp: '9999999999' })],
    ] as const)
      expect([name, errorOf(forged)]).toEqual([name, 'signature_mismatch'])
  })

  test('only what can have been issued here, by now, for as long as receipts live', () => {
    const life = RECEIPT_LIFE_SECONDS
    const forged = (claims: object) => errorOf(signedBy(ours.privateKey, good, { ...usual, ...claims }))
    for (const claims of [
      { iat: seconds + 61, exp: seconds + 61 + life },
      { iat: seconds + 365 * 86_400, exp: seconds + 365 * 86_400 + life },
      { exp: seconds + life + 1 },
      { exp: 9_999_999_999 },
      { exp: Number.MAX_SAFE_INTEGER },
      { exp: seconds },
      { iat: seconds - 0.5 },
      { iat: -1, exp: life },
      { iat: 1e300, exp: 1e301 },
      { iss: 'https://other.test' },
      { iss: '' },
      { iss: undefined },
      { iss: ['https://turnpike.test'] },
    ])
      expect([claims, forged(claims)]).toEqual([claims, 'signature_mismatch'])
    for (const claims of [
      { iat: seconds + 59, exp: seconds + 59 + life },
      { iat: seconds - life + 10, exp: seconds + 10 },
      { iss: 'https://before.test' },
    ])
      expect([claims, forged(claims)]).toEqual([claims, 'valid'])
    const anywhere = signedBy(ours.privateKey, good, { ...usual, iss: 'https://other.test' })
    expect(verifyReceipt(anywhere, { keys, issuers: undefined }, NOW).valid).toBe(true)
  })

  test('one that is too old is expired, with its claims; tampered with as well it is a mismatch', () => {
    const end = usual.exp * 1000
    expect(verdictOn(token, end + 4_000).valid).toBe(true)
    expect(verdictOn(token, end + 6_000)).toEqual({
      valid: false,
      error: 'expired',
      claims: parsed(JSON.stringify(usual)),
    })
    const tampered = `${header}.${base64url(JSON.stringify({ ...usual, sub: 'key_2' }))}.${signature}`
    expect(verdictOn(tampered, end + 6_000)).toEqual({ valid: false, error: 'signature_mismatch' })
  })

  test('one with as many and as long tags as a call may have is valid too', () => {
    const tags = Object.fromEntries(
      Array.from({ length: TAGS_MAX }, (_one, at) => [`${at}`.padEnd(64, 't'), '語'.repeat(256)]),
    )
    expect(Object.entries(tags).every(([name, value]) => isTagName(name) && isTagValue(value))).toBe(true)
    expect(verdictOn(signReceipt({ ...usual, tags }, ours.signing)).valid).toBe(true)
  })

  test('nothing a stranger sends makes the verifier throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.jsonValue(), fc.jsonValue(), (text, head, body) => {
        expect(errorOf(text)).not.toBe('valid')
        expect(errorOf(signedBy(foreign.privateKey, JSON.stringify(head), JSON.stringify(body)))).not.toBe(
          'valid',
        )
      }),
    )
  })
})

describe('keys', () => {
  const jwks = () => createLocalJWKSet(jwksOf([foreign, ours]))
  const options = { algorithms: ['EdDSA'], typ: 'receipt+jwt', currentDate: new Date(NOW) }

  test('a third party verifies against the key set with jose', async () => {
    const wanted = { ...options, issuer: 'https://turnpike.test', audience: 'receipt' }
    const { payload: read, protectedHeader } = await jwtVerify(token, jwks(), {
      ...wanted,
      requiredClaims: ['jti', 'iat', 'exp'],
    })
    expect(read.request_id).toBe(usual.request_id)
    expect(protectedHeader.kid).toBe(ours.kid)
    const changed = `${header}.${base64url(JSON.stringify({ ...usual, sub: 'key_2' }))}.${signature}`
    await expect(jwtVerify(changed, jwks(), wanted)).rejects.toThrow()
    const later = { ...wanted, currentDate: new Date(usual.exp * 1000 + 1_000) }
    await expect(jwtVerify(token, jwks(), later)).rejects.toThrow('exp')
  })

  test('what jose signs with our key is valid here', async () => {
    const signed = await new SignJWT({ ...usual })
      .setProtectedHeader({ alg: 'EdDSA', kid: ours.kid, typ: 'receipt+jwt' })
      .sign(ours.privateKey)
    expect(verdictOn(signed).valid).toBe(true)
  })

  test('the thumbprint is that of RFC 8037, appendix A.3', () => {
    expect(thumbprintOf('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo')).toBe(
      'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    )
  })

  test('a key set is read with its foreign and broken entries left out', () => {
    const [mine] = jwksOf([ours]).keys
    const read = readJwks({
      keys: [
        mine,
        null,
        'x',
        { kty: 'RSA' },
        { ...mine, kid: 'short', x: 'AAAA' },
        { ...mine, crv: 'X25519' },
      ],
    } as JsonObject)
    expect([...(read?.keys() ?? [])]).toEqual([ours.kid])
    expect(readJwks({ keys: 1 })).toBeUndefined()
    expect(readJwks([])).toBeUndefined()
    expect(readJwks(undefined)).toBeUndefined()
  })

  test('a sealed key opens under its secret and name only', () => {
    const [secret, iv] = [Buffer.alloc(32, 1), Buffer.alloc(12, 2)]
    const sealed = seal(ours.privateKey, ours.kid, secret, iv)
    expect(sealed).not.toContain(String(ours.privateKey.export({ format: 'jwk' }).d))
    const opened = unseal(sealed, ours.kid, secret)
    if (opened === undefined) throw new Error('it does not open')
    expect(signReceipt(usual, signingKey(ours.kid, opened))).toBe(token)
    expect(unseal(sealed, foreign.kid, secret)).toBeUndefined()
    expect(unseal(sealed, ours.kid, Buffer.alloc(32, 3))).toBeUndefined()
    expect(unseal(`B${sealed.slice(1)}`, ours.kid, secret)).toBeUndefined()
    expect(unseal('', ours.kid, secret)).toBeUndefined()
  })
})
