/** The vendors of a configuration: their keys and addresses, from the file and from the environment. */
import { Secret } from '../../core/secret.ts'
import { bad, type Environment } from '../../settings/bad-setting.ts'
import { serverSettings } from '../../settings/server.ts'
import { readSettings } from '../../settings/setting.ts'
import { vendors } from '../../vendors/index.ts'
import { ownAddress } from '../../vendors/own-address.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { addressOf, checkedUrl } from './base-urls.ts'
import { cloudVendors, isCloudVendor } from './cloud-vendors.ts'
import type { ConfigFile, FileBatch, FileHandling } from './config-file.ts'

/** Every vendor that has what it needs, built in or at an address of the operator's. Throws BadSetting. */
export const vendorSetups = (file: ConfigFile, environment: Environment): readonly VendorSetup[] => {
  const entries = file.vendors ?? {}
  const builtIn = vendors.flatMap((vendor): VendorSetup[] => {
    if (isCloudVendor(vendor.id)) return []
    const entry = entries[vendor.id]
    const baseUrl = addressOf(vendor, entry?.base_url, environment)
    const keys = keysOf(entry?.keys, environment[vendor.keyVariable])
    if (keys.secrets.length === 0) return []
    if (baseUrl === '')
      return bad(`${vendor.id.toUpperCase()}_BASE_URL is missing: ${vendor.name} has no common address`)
    return [{ vendor, baseUrl, ...keys }]
  })
  const own = Object.entries(entries).flatMap(([id, entry]): VendorSetup[] => {
    if (vendors.some((vendor) => vendor.id === id) || id === 'local') return []
    if (entry.base_url === undefined)
      return bad(`vendors.${id}.base_url is missing: '${id}' is not a known vendor, so its address is needed`)
    const vendor = ownAddress(id, checkedUrl(`vendors.${id}.base_url`, entry.base_url), entry.speaks)
    return [
      {
        vendor,
        baseUrl: addressOf(vendor, entry.base_url, environment),
        ...keysOf(entry.keys, environment[vendor.keyVariable]),
      },
    ]
  })
  const cloud = cloudVendors(environment, (vendor) =>
    addressOf(vendor, entries[vendor.id]?.base_url, environment),
  )
  const all = [...builtIn, ...cloud, ...own].map((setup) => {
    const entry = entries[setup.vendor.id]
    return inBucket(batching(stating(setup, entry?.handling), entry?.batches), entry?.batch)
  })
  if (readSettings(serverSettings.cacheMarks, environment)) return all
  return all.map((setup) => ({ ...setup, vendor: { ...setup.vendor, cacheMarks: false } }))
}

/** The vendor with what the operator states of the account there. */
export const stating = (setup: VendorSetup, said: FileHandling | undefined): VendorSetup =>
  said === undefined
    ? setup
    : { ...setup, stated: { zdr: said.zdr, noTraining: said.no_training, region: said.region } }

/** The vendor with the operator's names for its batches. Throws BadSetting if these need none. */
const batching = (setup: VendorSetup, batches: VendorSetup['batches']): VendorSetup => {
  if (batches === undefined) return setup
  const { id, batches: own } = setup.vendor
  if (own?.needs !== 'names')
    return bad(`vendors.${id}.batches is of no use: batches of '${id}' need no name of yours`)
  return { ...setup, batches }
}

/** The vendor with the bucket of its batches. Throws BadSetting if these need none, or it is not enough. */
const inBucket = (setup: VendorSetup, said: FileBatch): VendorSetup => {
  if (said === undefined) return setup
  const { vendor, jobs } = setup
  const [at, scheme] = [`vendors.${vendor.id}.batch`, vendor.batches?.needs]
  if (scheme === undefined || scheme === 'names')
    return bad(`${at} is of no use: batches of '${vendor.id}' need no bucket of yours`)
  if (!said.bucket.startsWith(`${scheme}://`)) return bad(`${at}.bucket must begin with ${scheme}://`)
  if (jobs === undefined)
    return bad(`${at} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: a Bedrock API key opens no bucket`)
  if (scheme === 's3' && said.role === undefined)
    return bad(`${at}.role is missing: the role as which Amazon Bedrock reads and writes the bucket`)
  const { bucket: uri, role, models, endpoint } = said
  const storage =
    endpoint === undefined
      ? jobs.storage
      : { ...jobs.storage, baseUrl: checkedUrl(`${at}.endpoint`, endpoint) }
  return { ...setup, bucket: { uri, role, models }, jobs: { ...jobs, storage } }
}

/** A built-in vendor as it would be with one key; undefined if there is none, or a key is not enough. Throws BadSetting. */
export const offSetup = (id: string, file: ConfigFile, environment: Environment): VendorSetup | undefined => {
  const vendor = vendors.find((one) => one.id === id)
  if (vendor === undefined || isCloudVendor(id) || vendor.alsoNeeds !== undefined) return undefined
  const baseUrl = addressOf(vendor, file.vendors?.[id]?.base_url, environment)
  return baseUrl === '' ? undefined : { vendor, baseUrl, secrets: [] }
}

/** The keys of a vendor from the file and the variable, each once. */
const keysOf = (listed: NonNullable<ConfigFile['vendors']>[string]['keys'], variable: string | undefined) => {
  const entries = [...(listed === undefined ? [] : [listed].flat()), ...(variable ?? '').split(',')].map(
    (entry) => (typeof entry === 'string' ? { key: entry.trim() } : { ...entry, key: entry.key.trim() }),
  )
  const keys = [
    ...new Map(entries.filter(({ key }) => key !== '').map((entry) => [entry.key, entry])).values(),
  ]
  return {
    secrets: keys.map(({ key }) => new Secret(key)),
    weights: keys.map((entry) => ('weight' in entry ? (entry.weight ?? 1) : 1)),
    priorities: keys.map((entry) => ('priority' in entry ? (entry.priority ?? 0) : 0)),
  }
}
