/**
 * Keys of vendors that were added while the server ran, in the folder of `VENDOR_KEYS`: one file each, so that two that are
 * added at once are both there. A file is called like the vendor's variable, a dot, and a part of the key's hash.
 */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../core/message-of.ts'
import { bad, type Environment } from '../../settings/bad-setting.ts'
import { serverSettings } from '../../settings/server.ts'
import { readSettings } from '../../settings/setting.ts'

const HASH = 16

/** Undefined if none are kept. */
export const keyFolderOf = (environment: Environment): string | undefined =>
  readSettings(serverSettings.vendorKeys, environment)

type AddedKey = { readonly variable: string; readonly key: string; readonly path: string }

/** Those that are there; none if there is no folder yet. Throws BadSetting if it cannot be read. */
export const addedKeys = (folder: string): readonly AddedKey[] => {
  try {
    return readdirSync(folder).flatMap((file) => {
      const [, variable] = /^([A-Z0-9_]+)\.[0-9a-f]{16}$/.exec(file) ?? []
      const path = join(folder, file)
      return variable === undefined ? [] : [{ variable, path, key: readFileSync(path, 'utf8').trim() }]
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    return bad(`VENDOR_KEYS names '${folder}', which cannot be read: ${messageOf(error)}`)
  }
}

/** The variables with the keys that were added behind those that they have. */
export const withAddedKeys = (environment: Environment): Environment => {
  const folder = keyFolderOf(environment)
  const added = folder === undefined ? [] : addedKeys(folder)
  const all = { ...environment }
  for (const { variable, key } of added)
    all[variable] = [all[variable] ?? '', key].filter((one) => one !== '').join(',')
  return all
}

/** Writes the key of a variable, whole or not at all, for the owner of the process alone. */
export const addKey = (folder: string, variable: string, key: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const hash = new Bun.CryptoHasher('sha256').update(key).digest('hex').slice(0, HASH)
  const path = join(folder, `${variable}.${hash}`)
  const half = `${path}.${process.pid}.new`
  writeFileSync(half, `${key}\n`, { mode: 0o600 })
  chmodSync(half, 0o600)
  renameSync(half, path)
}

/** Removes the added keys of a variable that end so, and tells them. */
export const removeKeys = (folder: string, variable: string, end: string): readonly string[] => {
  const those = addedKeys(folder).filter((one) => one.variable === variable && one.key.endsWith(end))
  for (const { path } of those) unlinkSync(path)
  return those.map(({ key }) => key)
}
