/** An address is good exactly as it was signed, until it expires; any change makes it worthless. */
import { expect, test } from 'bun:test'
import { checkSignature, readName, signedAddress } from './address.ts'

const under = (secret: string) => (text: string) =>
  new Bun.CryptoHasher('sha256', secret).update(text).digest('hex')
const hash = under('a secret')
const id = '0123456789abcdef0123456789abcdef'
const name = `${id}.png`
const NOW = 1_800_000_000_000

const partsOf = (address: string) => {
  const url = new URL(address)
  return {
    name: url.pathname.replace('/v1/assets/', ''),
    exp: url.searchParams.get('exp') ?? '',
    sig: url.searchParams.get('sig') ?? '',
  }
}
const signed = partsOf(signedAddress(hash, 'https://gate.example.com', name, NOW + 60_500))

test('an address is good until it runs out', () => {
  expect(signed.name).toBe(name)
  expect(checkSignature(hash, signed, NOW)).toBe('good')
  expect(checkSignature(hash, signed, NOW + 59_999)).toBe('good')
  expect(checkSignature(hash, signed, NOW + 60_000)).toBe('over')
})

test.each([
  { ...signed, exp: String(Number(signed.exp) + 1) },
  { ...signed, exp: '99999999999' },
  { ...signed, exp: `0${signed.exp}` },
  { ...signed, exp: `${signed.exp}.0` },
  { ...signed, exp: '' },
  { ...signed, sig: '' },
  { ...signed, sig: signed.sig.slice(1) },
  { ...signed, sig: signed.sig.toUpperCase() },
  { ...signed, sig: `${signed.sig.slice(0, -1)}${signed.sig.endsWith('0') ? '1' : '0'}` },
  { ...signed, sig: 'é'.repeat(32) },
  { ...signed, name: `${id}.html` },
  { ...signed, name: `1${name.slice(1)}` },
  // A space in the name cannot shift the boundary between the signed parts.
  { name: `${name} ${signed.exp}`, exp: '', sig: signed.sig },
])('%j is forged', (changed) => {
  expect(checkSignature(hash, changed, NOW)).toBe('forged')
})

test('the signature of another secret, or of a key, is none', () => {
  expect(checkSignature(under('another'), signed, NOW)).toBe('forged')
  expect(checkSignature(hash, { ...signed, sig: hash(name) }, NOW)).toBe('forged')
})

test.each([
  '',
  id,
  `${id}.`,
  `${id}.PNG`,
  `${id}.png.exe`,
  `${id.slice(1)}.png`,
  `${id.toUpperCase()}.png`,
  `../${name}`,
  `..%2f${name}`,
  `${name}\0`,
  `${id}.png\n`,
  `${id}/.png`,
  '../../../../../../etc/passwd.png',
])('%j is no name', (text) => {
  expect(readName(text)).toBeUndefined()
})
