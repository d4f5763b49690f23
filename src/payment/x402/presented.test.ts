/** Payments as callers present them: read strictly, and never mistaken for something that is not offered. */
import { expect, test } from 'bun:test'
import { Refusal } from '../../core/refusal.ts'
import { knownTokens, type Offer } from './offer.ts'
import { readPayment, type Scheme } from './presented.ts'

const payTo = '0xAbC0000000000000000000000000000000000001'
const offer: Offer = { ...knownTokens.base!, payTo }
const FROM = '0xDDD0000000000000000000000000000000000009'
const NONCE = `0x${'0A'.repeat(32)}`
const authorization = {
  from: FROM,
  to: payTo,
  value: '1235',
  validAfter: '0',
  validBefore: '1795000000',
  nonce: NONCE,
}
const payload = { signature: '0x00ff', authorization }
const accepted = { scheme: 'exact', network: offer.network, asset: offer.asset, extra: { quoteId: 'q_1' } }
const v2 = { x402Version: 2, accepted, payload }
const v1 = { x402Version: 1, scheme: 'exact', network: 'base', payload }

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const read = (value: unknown, schemes: readonly Scheme[] = ['exact', 'upto']) =>
  readPayment({ v2: base64(value), v1: undefined }, [offer], schemes)
const signing = (change: object) => ({
  ...v2,
  payload: { ...payload, authorization: { ...authorization, ...change } },
})

test('a payment of version 2 is what was signed, named by payer and nonce in small letters', () => {
  expect(read(v2)).toMatchObject({
    version: 2,
    scheme: 'exact',
    id: `${offer.network}:${offer.asset}:${FROM}:${NONCE}`.toLowerCase(),
    payer: FROM.toLowerCase(),
    units: '1235',
    validBefore: 1_795_000_000,
    quoteId: 'q_1',
  })
})

test('one of version 1 names its chain only, and has no place for a quote', () => {
  const presented = readPayment({ v2: undefined, v1: base64(v1) }, [offer], ['exact'])
  expect(presented).toMatchObject({ version: 1, offer, quoteId: undefined })
})

test.each<[string, unknown]>([
  ['another receiver', signing({ to: FROM })],
  ['another token', { ...v2, accepted: { ...accepted, asset: FROM } }],
  ['another chain', { ...v2, accepted: { ...accepted, network: 'eip155:1' } }],
  ['another scheme', { ...v2, accepted: { ...accepted, scheme: 'free' } }],
  ['the version 1 name of another chain', { ...v1, network: 'base-sepolia' }],
])('a payment for %s is for nothing that is taken here', (_what, value) => {
  expect(read(value)).toBeUndefined()
})

test.each<[string, unknown]>([
  ['another version', { ...v2, x402Version: 3 }],
  ['no payload', { ...v2, payload: null }],
  ['no signature', { ...v2, payload: { authorization } }],
  ['no nonce', signing({ nonce: undefined })],
  ['a short nonce', signing({ nonce: '0x01' })],
  ['no units', signing({ value: '0' })],
  ['units with a sign', signing({ value: '-5' })],
  ['units that are a number', signing({ value: 1235 })],
  ['units beyond what is counted', signing({ value: '1'.repeat(17) })],
  ['a time that is none', signing({ validBefore: 'soon' })],
  ['no payer', signing({ from: '0x1' })],
])('%s is a 400 that names the header', (_what, value) => {
  expect(read(value)).toMatchObject({ code: 'invalid_parameter', members: { param: 'PAYMENT-SIGNATURE' } })
})

test.each(['', 'not base64!', 'e30', base64([]), 'A'.repeat(8_193)])('%p is no payment', (header) => {
  const refusal = readPayment({ v2: undefined, v1: header }, [offer], ['exact'])
  expect(refusal).toBeInstanceOf(Refusal)
  expect(refusal).toMatchObject({ members: { param: 'X-PAYMENT' } })
})

const permit2Authorization = {
  from: FROM,
  permitted: { token: offer.asset, amount: '5000' },
  nonce: '77',
  deadline: '1795000000',
  witness: { to: payTo, facilitator: FROM, validAfter: '0' },
}
const upto = {
  x402Version: 2,
  accepted: { ...accepted, scheme: 'upto' },
  payload: { signature: '0x00', permit2Authorization },
}

test('a payment up to a bound is read from what Permit2 signs, and only where the scheme is on', () => {
  expect(read(upto)).toMatchObject({ scheme: 'upto', units: '5000', nonce: '77' })
  expect(read(upto, ['exact'])).toBeUndefined()
  expect(read({ ...upto, x402Version: 1, scheme: 'upto', network: 'base' })).toBeUndefined()
})

test('the token that Permit2 signs counts, and not the one that is claimed', () => {
  const other = { ...permit2Authorization, permitted: { token: FROM, amount: '5000' } }
  expect(read({ ...upto, payload: { signature: '0x00', permit2Authorization: other } })).toBeUndefined()
})
