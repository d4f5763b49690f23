/** Whether there is room for another result: checked before a call is submitted, with figures that are seconds old. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { AssetStore } from '../store/calls/asset-port.ts'
import type { ByteStore } from './byte-store.ts'

const FRESH_MS = 5_000
const RETRY_SECONDS = 60

/** Results of up to `bytes` are stored in their rows, until those total `allBytes`: films must not swell a ledger. */
export type SmallSettings = { readonly bytes: number; readonly allBytes: number }

type Parts = {
  readonly store: Pick<AssetStore, 'assetBytes'>
  readonly bytes: ByteStore
  readonly clock: Clock
  readonly log: Log
  /** The most bytes of all assets together, and how much of the disk must stay free. */
  readonly bytesMax: number
  readonly freeBytesMin: number
  readonly small: SmallSettings
}

export type StorageQuota = {
  /** The 503 when there is no room. */
  refusal(): Promise<Refusal | undefined>
  /** Whether this many bytes may be stored in the row itself. */
  inRow(bytes: number): boolean
  /** Notes bytes that were stored since the figures were read. */
  took(bytes: number): void
}

export const newStorageQuota = (parts: Parts): StorageQuota => {
  const { clock } = parts
  let stored = 0
  let small = 0
  let verdict: Promise<string | undefined> | undefined
  let readAtMs = 0
  const read = async (): Promise<string | undefined> => {
    try {
      ;({ all: stored, small } = await parts.store.assetBytes(parts.small.bytes))
      const free = await parts.bytes.freeBytes()
      return free !== undefined && free < parts.freeBytesMin ? 'the disk is nearly full' : undefined
    } catch (error) {
      parts.log.error('assets cannot be stored', { error: messageOf(error) })
      return 'their place cannot be reached'
    }
  }
  const reasonNow = async (): Promise<string | undefined> => {
    if (verdict === undefined || clock.monotonicMs() - readAtMs > FRESH_MS) {
      readAtMs = clock.monotonicMs()
      verdict = read().then((reason) => {
        const why = reason ?? (stored >= parts.bytesMax ? 'ASSETS_MAX_BYTES is reached' : undefined)
        if (why !== undefined) parts.log.warn('no room for assets', { error: why })
        return reason
      })
    }
    return (await verdict) ?? (stored >= parts.bytesMax ? 'all the room for them is used' : undefined)
  }
  return {
    refusal: async () => {
      const reason = await reasonNow()
      if (reason === undefined) return undefined
      const message = `Results cannot be stored now: ${reason}. Nothing was charged.`
      return refuse('service_unavailable', message, retryIn(RETRY_SECONDS))
    },
    inRow: (bytes) => bytes <= parts.small.bytes && small < parts.small.allBytes,
    took: (bytes) => {
      stored += bytes
      if (bytes <= parts.small.bytes) small += bytes
    },
  }
}
