/** Fingerprints of bodies: SHA-256, so that `sha256sum` over the same bytes shows whether a receipt is about them. */

/** Takes a body piece by piece. */
export type BodyHasher = { readonly update: (piece: Uint8Array) => void; readonly digest: () => string }

export const newBodyHasher = (): BodyHasher => {
  const hasher = new Bun.CryptoHasher('sha256')
  return {
    update: (piece) => void hasher.update(piece),
    digest: () => `sha256:${hasher.digest('hex')}`,
  }
}

export const bodyHash = (body: Uint8Array): string => `sha256:${Bun.SHA256.hash(body, 'hex')}`
