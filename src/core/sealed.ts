/** Authenticated encryption: texts that we give away, and that nobody else reads or changes. AES-256-GCM (NIST SP 800-38D). */
import { createCipheriv, createDecipheriv } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts under a secret of 32 bytes, bound to what it is for; `iv` is twelve fresh random bytes. */
export const sealed = (bytes: Uint8Array, purpose: string, secret: Uint8Array, iv: Uint8Array): string => {
  const cipher = createCipheriv(CIPHER, secret, iv)
  cipher.setAAD(Buffer.from(purpose))
  const hidden = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url')
}

/** The reverse; undefined under another secret, for another purpose, or if a single bit was changed. */
export const unsealed = (text: string, purpose: string, secret: Uint8Array): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  try {
    const decipher = createDecipheriv(CIPHER, secret, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}
