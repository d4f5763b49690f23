/** Whose key made a signature, by the hash and the curve of these chains. */
import { openNativeCurve, type Recover } from './native-curve.ts'

/** The contracts take no other length, and no other recovery byte. */
export const SIGNATURE = /^0x[0-9a-f]{128}1[bc]$/i

export type Signer = {
  keccak(data: string | Uint8Array): Buffer
  /** The address in lower case; undefined where the signature is none, or is in the other of its two spellings. */
  signerOf(digest: Buffer, signature: string): string | undefined
}

/** The contracts take one of the two spellings of a signature: that whose second number is at most this, half the curve's order. */
const HALF = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex')

/** The curve as WebAssembly, which runs everywhere. */
export const openCurve = async (): Promise<Recover> => {
  // The curve alone: the whole library brings its virtual machines, which do not load in the single executable.
  const { instantiateSecp256k1 } = await import('@bitauth/libauth/build/lib/crypto/secp256k1.js')
  const secp256k1 = await instantiateSecp256k1()
  return (compact, parity, digest) => {
    const key = secp256k1.recoverPublicKeyUncompressed(compact, parity, digest)
    return typeof key === 'string' ? undefined : key
  }
}

/** Loads the hash and the curve on first use: a server without channels need not load them. */
export const openSigner = async (): Promise<Signer> => {
  const { createKeccak } = await import('hash-wasm')
  const recover = openNativeCurve() ?? (await openCurve())
  const hasher = await createKeccak(256)
  const keccak = (data: string | Uint8Array): Buffer =>
    Buffer.from(hasher.init().update(data).digest('binary'))
  const signerOf = (digest: Buffer, signature: string): string | undefined => {
    const bytes = Buffer.from(signature.slice(2), 'hex')
    const compact = bytes.subarray(0, 64)
    if (HALF.compare(compact, 32, 64) < 0) return undefined
    const key = recover(compact, bytes[64] === 28 ? 1 : 0, digest)
    return key && `0x${keccak(key.subarray(1)).subarray(12).toString('hex')}`
  }
  return { keccak, signerOf }
}
