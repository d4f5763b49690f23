/**
 * Signatures in the form of minisign: Ed25519 over the BLAKE2b of the file, and over the comment. The key is one that
 * `minisign -G -W` made, without a password: it is the operator of the repository's, and kept outside of it.
 * Source of the form: jedisct1.github.io/minisign, "Signature format", "Secret key format".
 */
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Where the parts of a secret key lie: its algorithm, how it is locked, and the key itself. */
const PARTS = { locked: [2, 4], id: [54, 62], seed: [62, 94] } as const
const LENGTH = 158
/** The beginning of an Ed25519 key in PKCS#8. Source: RFC 8410, section 7. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

type ReleaseKey = { readonly id: Buffer; readonly key: KeyObject }

/** The key in a file of minisign. Throws where it is none, or has a password. */
const keyIn = (path: string): ReleaseKey => {
  const bytes = Buffer.from(readFileSync(path, 'utf8').split('\n')[1] ?? '', 'base64')
  const part = ([from, to]: readonly [number, number]) => bytes.subarray(from, to)
  if (bytes.length !== LENGTH || bytes.toString('latin1', 0, 2) !== 'Ed')
    throw new Error(`${path} is no secret key of minisign`)
  if (part(PARTS.locked).some((byte) => byte !== 0))
    throw new Error(
      `${path} has a password: make one with 'minisign -G -W', or sign SHA256SUMS with 'minisign -S'`,
    )
  const der = Buffer.concat([PKCS8, part(PARTS.seed)])
  return { id: part(PARTS.id), key: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
}

/** The text of a signature of the bytes, for `<file>.minisig`. Ed25519 uses no randomness: the same bytes have the same one. */
export const signature = (bytes: Uint8Array, comment: string, keyFile: string): string => {
  const { id, key } = keyIn(keyFile)
  const own = sign(null, createHash('blake2b512').update(bytes).digest(), key)
  const global = sign(null, Buffer.concat([own, Buffer.from(comment)]), key)
  return [
    'untrusted comment: signature of a release of turnpike',
    Buffer.concat([Buffer.from('ED'), id, own]).toString('base64'),
    `trusted comment: ${comment}`,
    `${global.toString('base64')}\n`,
  ].join('\n')
}
