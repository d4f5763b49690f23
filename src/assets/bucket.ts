/**
 * Bytes of results in a bucket that speaks S3's protocol; readers are redirected to an address there that is valid for
 * five minutes.
 */

import { S3Client } from 'bun'
import { present } from '../core/json-body.ts'
import type { Secret } from '../core/secret.ts'
import type { ByteStore, Pieces, Served } from './byte-store.ts'

export type BucketSettings = {
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
  /** Absent for Amazon's own. */
  readonly endpoint: string | undefined
  readonly region: string | undefined
  readonly keyId: string
  readonly secret: Secret
}

const PRESIGNED_SECONDS = 300
/** The smallest part that the protocol allows. */
const PART_BYTES = 5 * 1024 * 1024
/** How long one step may take with its retries: sending a part, removing a name. */
const STEP_MS = 120_000
/** How long it may take to say that it is there. */
const THERE_MS = 5_000

/** A bucket that is first contacted when it is needed. */
export const openBucket = (settings: BucketSettings, stepMs: number = STEP_MS): ByteStore => {
  const client = new S3Client({
    bucket: settings.bucket,
    accessKeyId: settings.keyId,
    secretAccessKey: settings.secret.reveal(),
    ...present({ endpoint: settings.endpoint, region: settings.region }),
  })
  const nameOf = (id: string) => `${settings.prefix}${id}`
  return {
    write: (id, pieces, served) => upload(writerOf(client, nameOf(id), served, stepMs), pieces),
    // The bucket itself answers whether it has the object, and serves any part of it.
    open: async (id) => ({ redirect: client.presign(nameOf(id), { expiresIn: PRESIGNED_SECONDS }) }),
    part: (id, { first, last }) =>
      inTime(
        client
          .file(nameOf(id))
          .slice(first, last + 1)
          .bytes(),
        stepMs,
      ),
    whole: (id) => inTime(client.file(nameOf(id)).bytes(), stepMs),
    remove: (id) => inTime(client.delete(nameOf(id)), stepMs),
    // A bucket has no bounds, but it can be gone.
    freeBytes: () => inTime(isThere(client, nameOf('none')), Math.min(stepMs, THERE_MS)),
  }
}

/** Answers of a bucket that is there and lacks the name, or does not tell whoever may not list. */
const THERE: readonly unknown[] = ['NoSuchKey', 'AccessDenied']

/** Rejects when the bucket cannot be reached or does not exist. */
const isThere = (client: S3Client, name: string): Promise<undefined> =>
  client
    .file(name)
    .bytes()
    .then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof Error && 'code' in error && THERE.includes(error.code)) return undefined
        throw error
      },
    )

type Writer = {
  readonly write: (piece: Uint8Array) => Promise<unknown>
  /** Waits until what was written is sent. */
  readonly flush: () => Promise<unknown>
  readonly end: (error?: Error) => Promise<unknown>
}

const writerOf = (
  client: S3Client,
  name: string,
  { mediaType, disposition }: Served,
  stepMs: number,
): Writer => {
  const writer = client.file(name).writer({
    type: mediaType,
    contentDisposition: disposition,
    partSize: PART_BYTES,
    queueSize: 1,
    retry: 3,
  })
  return {
    write: (piece) => inTime(writer.write(piece), stepMs),
    flush: () => inTime(writer.flush(), stepMs),
    end: (error) => inTime(writer.end(error), stepMs),
  }
}

/** Sends parts as they fill, and waits for them, so that only a few are in memory. */
const upload = async (writer: Writer, pieces: Pieces): Promise<void> => {
  let waiting = 0
  try {
    for await (const piece of pieces) {
      await writer.write(piece)
      waiting += piece.length
      if (waiting < PART_BYTES) continue
      await writer.flush()
      waiting = 0
    }
  } catch (error) {
    // Parts that are on their way must arrive before the name is removed, or the name would come back.
    await writer.end(error instanceof Error ? error : undefined).catch(() => undefined)
    throw error
  }
  await writer.end()
}

const inTime = async <T>(work: T | Promise<T>, ms: number): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the bucket did not answer for ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
