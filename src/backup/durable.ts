/** Files that are on the disk when a promise resolves, and their checksums. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Pieces } from '../assets/byte-store.ts'

const OWNER_ONLY = 0o600

/** Syncs the content of a file or folder to the disk. */
export const sync = async (path: string): Promise<void> => {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Writes a new file and syncs it; returns its checksum. */
export const writeSynced = async (path: string, pieces: Pieces): Promise<Sum> => {
  const file = await open(path, 'w', OWNER_ONLY)
  try {
    const sum = newSum()
    for await (const piece of pieces) {
      sum.add(piece)
      await file.writeFile(piece)
    }
    await file.sync()
    return sum.end()
  } finally {
    await file.close()
  }
}

type Sum = { readonly bytes: number; readonly sha256: string }

export const newSum = () => {
  const hasher = new Bun.CryptoHasher('sha256')
  let bytes = 0
  return {
    add: (piece: Uint8Array): void => {
      hasher.update(piece)
      bytes += piece.length
    },
    end: (): Sum => ({ bytes, sha256: hasher.digest('hex') }),
  }
}

/** The checksum of a file. */
export const sumOfFile = async (path: string): Promise<Sum> => {
  const sum = newSum()
  for await (const piece of piecesOfFile(path)) sum.add(piece)
  return sum.end()
}

export const piecesOfFile = (path: string): Pieces => createReadStream(path)

export async function* piecesOfText(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}

/** Whether the error says that a file, or an object of a bucket, does not exist. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'NoSuchKey')
