/** Bytes of results in a folder: written under a temporary name, synced, and renamed; only this user may read them. */
import { constants } from 'node:fs'
import { mkdir, open, rename, statfs, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ByteStore, Span } from './byte-store.ts'

const PIECE_BYTES = 256 * 1024
const FILE = 0o600
const FOLDER = 0o700

/** A folder that is made when it is first needed. */
export const openFolder = (root: string): ByteStore => {
  // Subfolders, because folders of many thousand files are slow to list and copy.
  const folderOf = (id: string) => join(root, id.slice(0, 2))
  const pathOf = (id: string) => join(folderOf(id), id)
  const partOf = (id: string) => `${pathOf(id)}.part`
  return {
    write: async (id, pieces) => {
      await mkdir(folderOf(id), { recursive: true, mode: FOLDER })
      try {
        const file = await open(partOf(id), 'w', FILE)
        try {
          for await (const piece of pieces) await writeAll(file, piece)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(partOf(id), pathOf(id))
        await syncFolder(folderOf(id))
      } catch (error) {
        await removeFile(partOf(id)).catch(() => undefined)
        throw error
      }
    },
    open: async (id, span) => {
      const file = await openFile(pathOf(id))
      return file && { pieces: piecesOf(file, span) }
    },
    part: async (id, { first, last }) => {
      const file = await openFile(pathOf(id))
      if (file === undefined) return undefined
      const buffer = new Uint8Array(last - first + 1)
      try {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, first)
        return buffer.subarray(0, bytesRead)
      } finally {
        await file.close()
      }
    },
    whole: async (id) => {
      const file = await openFile(pathOf(id))
      return file?.readFile().finally(() => file.close())
    },
    remove: async (id) => {
      await removeFile(partOf(id))
      await removeFile(pathOf(id))
    },
    freeBytes: async () => {
      await mkdir(root, { recursive: true, mode: FOLDER })
      const { bavail, bsize } = await statfs(root)
      return bavail * bsize
    },
  }
}

/** Undefined when it does not exist. */
const openFile = async (path: string): Promise<File | undefined> => {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

type File = Awaited<ReturnType<typeof open>>

const writeAll = async (file: File, piece: Uint8Array): Promise<void> => {
  for (let written = 0; written < piece.length; ) {
    const { bytesWritten } = await file.write(piece, written)
    if (bytesWritten === 0) throw new Error('the folder of assets takes no more bytes')
    written += bytesWritten
  }
}

/**
 * Reads on demand. Not a generator, because one that was never started would not close the file when it is returned.
 */
const piecesOf = (file: File, { first, last }: Span): AsyncIterableIterator<Uint8Array> => {
  let at = first
  let closed = false
  let reading: Promise<unknown> = Promise.resolve()
  const close = async (): Promise<IteratorResult<Uint8Array>> => {
    if (!closed) {
      closed = true
      // A read in progress must not meet another file that got the same descriptor.
      await reading.catch(() => undefined)
      await file.close()
    }
    return { done: true, value: undefined }
  }
  const pieces: AsyncIterableIterator<Uint8Array> = {
    next: async () => {
      if (closed || at > last) return close()
      const buffer = new Uint8Array(Math.min(PIECE_BYTES, last - at + 1))
      const read = file.read(buffer, 0, buffer.length, at)
      reading = read
      const { bytesRead } = await read
      if (bytesRead === 0) throw new Error('the file of an asset is shorter than it was')
      at += bytesRead
      return { done: false, value: buffer.subarray(0, bytesRead) }
    },
    return: close,
    [Symbol.asyncIterator]: () => pieces,
  }
  return pieces
}

/** A new name is durable once its folder is synced. */
const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

const removeFile = async (path: string): Promise<void> => {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
