/** From settings to the storage of assets: which store of bytes, how long, how many. */
import { randomBytes } from 'node:crypto'
import { type AssetSettings, type Assets, openAssets } from '../../assets/assets.ts'
import { type BucketSettings, openBucket } from '../../assets/bucket.ts'
import { openFolder } from '../../assets/folder.ts'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { Log } from '../../core/log.ts'
import { systemClock } from '../../core/time.ts'
import type { assetSettings } from '../../settings/assets.ts'
import { bad } from '../../settings/bad-setting.ts'
import type { ValuesOf } from '../../settings/setting.ts'
import type { AssetStore } from '../../store/calls/asset-port.ts'
import { openPool } from '../../transport/local-media/pool.ts'
import { systemPublicParts } from '../../transport/public-address.ts'
import { bucketNamed } from './bucket-name.ts'

export type AssetsConfig = AssetSettings & {
  readonly place: { readonly folder: string } | BucketSettings
  /** The beginning of addresses; undefined for the address that the server listens on. */
  readonly origin: string | undefined
}

type Values = ValuesOf<typeof assetSettings>

/** Results wait for it rather than being charged for their bound; each takes milliseconds, or is a stranger's trap. */
const MEASURING = { processes: 1, waiting: 1_000, limitMs: 20_000, longestMs: 200_000 }

const FREE_BYTES_MIN = 1_000_000_000
/** For small results: a file of its own would cost more than everything else about the call. */
const SMALL = { bytes: 32 * 1024, allBytes: 1024 ** 3 }
const ID_BYTES = 16

/** Throws BadSetting. */
export const assetsConfigOf = (values: Values): AssetsConfig => {
  const { bytesMax, lifeMs, addressMs, uploadLifeMs, uploadBytesMax, uploadsKeyBytesMax } = values
  return {
    bytesMax,
    lifeMs,
    addressMs,
    uploads: { lifeMs: uploadLifeMs, bytesMax: uploadBytesMax, keyBytesMax: uploadsKeyBytesMax },
    freeBytesMin: FREE_BYTES_MIN,
    small: SMALL,
    origin: values.origin ?? values.publicUrl,
    place: placeOf(values),
  }
}

const placeOf = ({ place, keyId, secret, endpoint, region }: Values): AssetsConfig['place'] => {
  const named = bucketNamed(place)
  if (named === undefined) return { folder: place }
  return keyId === undefined || secret === undefined
    ? bad('ASSETS=s3://… needs ASSETS_KEY_ID and ASSETS_SECRET')
    : { ...named, endpoint, region, keyId, secret }
}

type Parts = {
  readonly store: AssetStore
  readonly hash: KeyedHash
  readonly log: Log
  /** Where the server listens, once it does. */
  readonly port: () => number
}

/** Whether its place can be reached is looked up at once, and logged if not; calls are refused until it can. */
export const assetsFor = ({ place, origin, ...settings }: AssetsConfig, parts: Parts): Assets => {
  const assets = openAssets({
    ...parts,
    settings,
    bytes: 'folder' in place ? openFolder(place.folder) : openBucket(place),
    web: systemPublicParts,
    measuring: openPool(MEASURING),
    clock: systemClock,
    newId: () => randomBytes(ID_BYTES).toString('hex'),
    base: () => origin ?? `http://localhost:${parts.port()}`,
  })
  void assets.full()
  return assets
}
