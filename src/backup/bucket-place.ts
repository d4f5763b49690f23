/**
 * Backups in a bucket that speaks S3's protocol: the ledger is copied to a local disk and then sent, the manifest last.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type BucketSettings, openBucket } from '../assets/bucket.ts'
import { piecesIn } from './copy-assets.ts'
import { isMissing, piecesOfFile, piecesOfText } from './durable.ts'
import { freeIn, hiddenIn, takeFolder } from './folder-place.ts'
import { LEDGER, MANIFEST } from './manifest.ts'
import type { BackupPlace, BackupSource } from './place.ts'

const OWNER_ONLY = 0o700
const SERVED = { mediaType: 'application/octet-stream', disposition: 'attachment' }

const below = (settings: BucketSettings, name: string): BucketSettings => ({
  ...settings,
  prefix: `${settings.prefix}${name}/`,
})

/** A bucket that takes backups; `staging` is a local folder with room for the ledger. */
export const bucketPlace = (settings: BucketSettings, staging: string): BackupPlace => ({
  begin: async (name) => {
    const release = await takeFolder(staging)
    const part = hiddenIn(staging, name)
    const ledger = join(part, LEDGER)
    await mkdir(part, { mode: OWNER_ONLY })
    const files = openBucket(below(settings, name))
    return {
      ledger,
      freeBytes: () => freeIn(part),
      assets: openBucket(below(settings, `${name}/assets`)),
      keepLedger: () => files.write(LEDGER, piecesOfFile(ledger), SERVED),
      finish: async (manifest) => {
        await files.write(MANIFEST, piecesOfText(manifest), { ...SERVED, mediaType: 'application/json' })
        return `s3://${settings.bucket}/${settings.prefix}${name}`
      },
      end: async () => {
        await rm(part, { recursive: true, force: true })
        release()
      },
    }
  },
})

/** One backup in a bucket, under its own prefix. */
export const bucketSource = (settings: BucketSettings): BackupSource => {
  const files = openBucket(settings)
  return {
    manifest: async () => {
      try {
        return new TextDecoder().decode(await files.whole(MANIFEST))
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },
    ledger: (bytes) => piecesIn(files, LEDGER, bytes),
    assets: openBucket(below(settings, 'assets')),
  }
}
