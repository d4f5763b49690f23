/** Whose key made a signature, by the hash and the curve of these chains. */

/** The contracts take no other length, and no other recovery byte. */
export const SIGNATURE = /^0x[0-9a-f]{128}1[bc]$/i

export type Signer = {
  keccak(data: string | Uint8Array): Buffer
  /** The address in lower case; undefined where the signature is none, or is in the other of its two spellings. */
  signerOf(digest: Buffer, signature: string): string | undefined
}

/** Loads the hash and the curve on first use: a server without channels need not load them. */
export const openSigner = async (): Promise<Signer> => {
  // The curve alone: the whole library brings its virtual machines, which do not load in the single executable.
  const [{ createKeccak }, { instantiateSecp256k1 }] = await Promise.all([
    import('hash-wasm'),
    import('@bitauth/libauth/build/lib/crypto/secp256k1.js'),
  ])
  const [hasher, secp256k1] = await Promise.all([createKeccak(256), instantiateSecp256k1()])
  const keccak = (data: string | Uint8Array): Buffer =>
    Buffer.from(hasher.init().update(data).digest('binary'))
  const signerOf = (digest: Buffer, signature: string): string | undefined => {
    const bytes = Buffer.from(signature.slice(2), 'hex')
    const compact = bytes.subarray(0, 64)
    // The contract takes one of the two spellings of a signature.
    if (!Buffer.from(secp256k1.normalizeSignatureCompact(compact) as Uint8Array).equals(compact))
      return undefined
    const key = secp256k1.recoverPublicKeyUncompressed(compact, bytes[64] === 28 ? 1 : 0, digest)
    return typeof key === 'string' ? undefined : `0x${keccak(key.subarray(1)).subarray(12).toString('hex')}`
  }
  return { keccak, signerOf }
}
