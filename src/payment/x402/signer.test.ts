/** Every way to the curve finds the key of a signature, and says of what is none that it is none. */
import { expect, test } from 'bun:test'
import { secp256k1 } from '@bitauth/libauth'
import fc from 'fast-check'
import '../../../test/seed.ts'
import { openNativeCurve } from './native-curve.ts'
import { openCurve, openSigner } from './signer.ts'

const slow = await openCurve()
/** Where the machine has no library of its own, only the other is compared. */
const ways = [slow, openNativeCurve() ?? slow]
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const key32 = bytes(32).filter((key) => secp256k1.validatePrivateKey(key))
const signed = (key: Uint8Array, digest: Uint8Array) => {
  const made = secp256k1.signMessageHashRecoverableCompact(key, digest)
  if (typeof made === 'string') throw new Error(made)
  return { compact: Buffer.from(made.signature), parity: made.recoveryId === 1 ? 1 : 0 } as const
}

test.if(process.platform === 'linux' && process.arch === 'x64')('the package brings the library', () => {
  expect(openNativeCurve()).toBeDefined()
})

test('the key of a signature is found, and of another digest it is another', () => {
  fc.assert(
    fc.property(key32, bytes(32), bytes(32), (key, digest, other) => {
      const { compact, parity } = signed(key, digest)
      const mine = Buffer.from(secp256k1.derivePublicKeyUncompressed(key) as Uint8Array)
      for (const recover of ways) {
        expect(mine.equals(recover(compact, parity, Buffer.from(digest)) ?? Buffer.alloc(0))).toBe(true)
        const found = recover(compact, parity, Buffer.from(other))
        expect(mine.equals(found ?? Buffer.alloc(0))).toBe(Buffer.from(digest).equals(other))
      }
    }),
    { numRuns: 20 },
  )
})

test('bytes that nobody signed are a key to all of them, or to none', () => {
  const edge = fc.constantFrom(Buffer.alloc(32), Buffer.alloc(32, 255))
  const number = fc.oneof(bytes(32), edge)
  fc.assert(
    fc.property(
      number,
      number,
      bytes(32),
      fc.constantFrom(0 as const, 1 as const),
      (r, s, digest, parity) => {
        const compact = Buffer.concat([r, s])
        const [one, two] = ways.map((recover) => recover(compact, parity, Buffer.from(digest)))
        expect(Buffer.from(one ?? []).toString('hex')).toBe(Buffer.from(two ?? []).toString('hex'))
      },
    ),
    { numRuns: 40 },
  )
})

test('a signature counts in one of its two spellings', async () => {
  const { keccak, signerOf } = await openSigner()
  const [key, digest] = [Buffer.alloc(32, 7), keccak('a message')]
  const { compact, parity } = signed(key, digest)
  const text = (numbers: Buffer, odd: 0 | 1) => `0x${numbers.toString('hex')}${odd === 1 ? '1c' : '1b'}`
  expect(signerOf(digest, text(compact, parity))).toMatch(/^0x[0-9a-f]{40}$/)
  const order = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141')
  const second = order - BigInt(`0x${compact.subarray(32).toString('hex')}`)
  const other = Buffer.concat([
    compact.subarray(0, 32),
    Buffer.from(second.toString(16).padStart(64, '0'), 'hex'),
  ])
  expect(signerOf(digest, text(other, parity === 1 ? 0 : 1))).toBeUndefined()
})
