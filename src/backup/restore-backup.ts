/**
 * Restores a backup where there is nothing: its checksums are verified and its books audited before anybody can find it
 * there.
 */
import { existsSync, statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ByteStore } from '../assets/byte-store.ts'
import type { Instant } from '../core/time.ts'
import { lockForServing } from '../store/engine/serving-lock.ts'
import { fileOf, type LedgerFacts, newestSchema, openLedgerFile } from '../store/ledger-file.ts'
import { type Copied, copyAssets } from './copy-assets.ts'
import { sync, writeSynced } from './durable.ts'
import { type Manifest, readManifest } from './manifest.ts'
import type { BackupSource } from './place.ts'

type RestoreParts = {
  readonly source: BackupSource
  /** How the source was named. */
  readonly from: string
  /** The address of the ledger to be made. */
  readonly url: string
  /** Where the bytes of results belong; undefined if another system keeps them. */
  readonly assets: ByteStore | undefined
  readonly now: () => Instant
}

export type Restored = {
  readonly manifest: Manifest
  readonly facts: LedgerFacts
  /** What became of the results beside the ledger, if the backup has them and they belong here. */
  readonly assets: Copied | undefined
}

/** Nothing was restored, and why. */
class NotRestored extends Error {}

/** Files that SQLite and a restore leave beside a ledger. */
const LOGS = ['-wal', '-journal', '-shm']

/** Restores all of it, or throws and leaves no ledger there. */
export const restoreBackup = async (parts: RestoreParts): Promise<Restored> => {
  const path = fileOf(parts.url)
  if (path === undefined)
    throw new NotRestored('this backup is a ledger of SQLite: set DATABASE_URL to sqlite:<path>')
  const manifest = await manifestOf(parts)
  mustBeEmpty(path)
  const lock = lockForServing(parts.url)
  try {
    // Somebody may have made one while we waited for the lock.
    mustBeEmpty(path)
    return await restoreInto(path, manifest, parts)
  } finally {
    lock.release()
  }
}

const manifestOf = async ({ source, from }: RestoreParts): Promise<Manifest> => {
  const text = await source.manifest()
  if (text === undefined)
    throw new NotRestored(
      `${from} is no whole backup: it has no manifest (name one, such as …/turnpike-2026-…)`,
    )
  const manifest = readManifest(text)
  if (manifest === undefined) throw new NotRestored(`${from} has a manifest that this program cannot read`)
  if (manifest.schema > newestSchema)
    throw new NotRestored(
      `${from} is newer than this program: it is of schema ${manifest.schema}, this program knows ${newestSchema}`,
    )
  return manifest
}

/** An empty file is what a start leaves that went no further. */
const mustBeEmpty = (path: string): void => {
  const there = [path, ...LOGS.map((end) => `${path}${end}`)].find(
    (one) => existsSync(one) && statSync(one).size > 0,
  )
  if (there !== undefined)
    throw new NotRestored(`${there} is there: restore goes only where no ledger is, and changes none`)
}

const restoreInto = async (path: string, manifest: Manifest, parts: RestoreParts): Promise<Restored> => {
  const part = `${path}.restore`
  const clear = () =>
    Promise.all([part, ...LOGS.map((end) => `${part}${end}`)].map((one) => rm(one, { force: true })))
  // A restore that was killed may have left them.
  await clear()
  try {
    const restored = await writeAndCheck(part, manifest, parts)
    await sync(part)
    await rename(part, path)
    await sync(dirname(path))
    return restored
  } finally {
    await clear()
  }
}

const writeAndCheck = async (
  part: string,
  manifest: Manifest,
  { source, from, assets, now }: RestoreParts,
): Promise<Restored> => {
  const found = await writeSynced(part, source.ledger(manifest.ledger.bytes))
  if (found.sha256 !== manifest.ledger.sha256 || found.bytes !== manifest.ledger.bytes)
    throw new NotRestored(`the ledger in ${from} is not what its manifest says: the backup is damaged`)
  const ledger = await openLedgerFile(part, now, { upgrade: true })
  try {
    const facts = await ledger.facts()
    const copied =
      assets === undefined || 'elsewhere' in manifest.assets
        ? undefined
        : await copyAssets(ledger.assets(), source.assets, assets)
    return { manifest, facts, assets: copied }
  } finally {
    await ledger.close()
  }
}
