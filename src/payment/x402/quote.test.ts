/** x402 amounts and the quotes that bind them: rounded up once, and valid for one request, token and receiver. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { knownTokens, nanoOfUnits, type Offer, unitsFor } from './offer.ts'
import { checkQuote, makeQuote } from './quote.ts'

const hash = (text: string) => new Bun.CryptoHasher('sha256', 'secret').update(text).digest('hex')
const offer: Offer = { ...knownTokens.base!, payTo: '0xAbC0000000000000000000000000000000000001' }

test.each([
  [0n, '1'],
  [1n, '1'],
  [1_000n, '1'],
  [1_001n, '2'],
  [1_000_000_000n, '1000000'],
  [1_000_000_001n, '1000001'],
])('%p nano-USD are %s units', (amount, units) => {
  expect(unitsFor(offer, amount)).toBe(units)
})

test('units cover the amount, and one less does not', () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 30n), fc.bigInt(1n, 10n ** 12n), (amount, nanoPerUnit) => {
      const token = { ...offer, nanoPerUnit }
      const worth = nanoOfUnits(token, unitsFor(token, amount))
      return worth >= amount && worth - nanoPerUnit < amount
    }),
  )
})

const price = { fingerprint: 'f1', bound: 1_234_567n }
const NOW = Date.UTC(2026, 10, 21)
const quote = makeQuote(hash, offer, price, { now: NOW, timeoutSeconds: 60 })
const paid = { units: quote.units, quoteId: quote.id, now: NOW }

test('a quote is good for its request until the payer has had its time, and some more', () => {
  expect(quote.units).toBe('1235')
  expect(checkQuote(hash, offer, price, paid)).toBe('good')
  expect(quote.expiresAt).toBe(NOW + 90_000)
  expect(checkQuote(hash, offer, price, { ...paid, now: quote.expiresAt })).toBe('good')
  expect(checkQuote(hash, offer, price, { ...paid, now: quote.expiresAt + 1 })).toBe('quote_expired')
})

test('what was quoted is good whatever the price is by now', () => {
  expect(checkQuote(hash, offer, { ...price, bound: 9_999_999n }, paid)).toBe('good')
})

test.each<[string, Partial<Offer>, Partial<typeof price>, Partial<typeof paid>]>([
  ['another request', {}, { fingerprint: 'f2' }, {}],
  ['another amount', {}, {}, { units: '1234' }],
  ['another receiver', { payTo: '0xAbC0000000000000000000000000000000000002' }, {}, {}],
  ['another token', { asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }, {}, {}],
  ['another chain', { network: 'eip155:1' }, {}, {}],
  ['a later end', {}, {}, { quoteId: quote.id.replace(/_[0-9a-z]+_/, '_zzzzzzzz_') }],
  ['no quote at all', {}, {}, { quoteId: 'q_' }],
])('it is not good for %s', (_what, otherOffer, otherPrice, otherPaid) => {
  const verdict = checkQuote(
    hash,
    { ...offer, ...otherOffer },
    { ...price, ...otherPrice },
    { ...paid, ...otherPaid },
  )
  expect(verdict).toBe('quote_mismatch')
})

test('nor under another secret; but the letters of an address may be large or small', () => {
  const other = (text: string) => new Bun.CryptoHasher('sha256', 'other').update(text).digest('hex')
  expect(checkQuote(other, offer, price, paid)).toBe('quote_mismatch')
  expect(checkQuote(hash, { ...offer, payTo: offer.payTo.toLowerCase() }, price, paid)).toBe('good')
})

test("without a quote's id it is today's price or nothing", () => {
  const of = (units: string) => checkQuote(hash, offer, price, { units, quoteId: undefined, now: NOW })
  expect([of('1235'), of('1234'), of('1236')]).toEqual(['good', 'quote_mismatch', 'quote_mismatch'])
})
