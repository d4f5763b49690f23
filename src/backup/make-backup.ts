/** A backup of a SQLite ledger, with its stored results, while the ledger is being served. */
import type { ByteStore } from '../assets/byte-store.ts'
import type { Instant } from '../core/time.ts'
import {
  copyLedger,
  type LedgerFacts,
  measureLedger,
  newestSchema,
  openLedgerFile,
} from '../store/ledger-file.ts'
import { copyAssets } from './copy-assets.ts'
import { sumOfFile } from './durable.ts'
import type { Manifest } from './manifest.ts'
import type { BackupPlace, Writing } from './place.ts'

type BackupParts = {
  /** The ledger's file. */
  readonly ledger: string
  /** Where the bytes of results are stored; if another system keeps them, the name of that place. */
  readonly assets: ByteStore | { readonly elsewhere: string }
  readonly place: BackupPlace
  readonly now: () => Instant
  readonly madeBy: string
  /** If the operator holds the keys' secret, identifies which secret it is. */
  readonly proof: string | undefined
}

/** No backup was made, and why. */
class NotMade extends Error {}

/** Makes a complete backup, or throws and leaves none. Returns what to restore it from. */
export const makeBackup = async (
  parts: BackupParts,
): Promise<{ readonly at: string; readonly manifest: Manifest }> => {
  const { schema, bytes } = measureLedger(parts.ledger)
  if (schema !== newestSchema)
    throw new NotMade(
      `the ledger is of schema ${schema}, this program's is ${newestSchema}: take the backup with the version of Turnpike that serves it`,
    )
  const madeAt = new Date(parts.now()).toISOString()
  const writing = await parts.place.begin(`turnpike-${madeAt.replaceAll(/[:.]/g, '-')}`)
  try {
    const free = await writing.freeBytes()
    if (free !== undefined && free < bytes)
      throw new NotMade(`the copy of the ledger takes up to ${bytes} bytes, and ${free} are free`)
    const manifest = await written(parts, writing, madeAt)
    return { at: await writing.finish(`${JSON.stringify(manifest, undefined, 2)}\n`), manifest }
  } finally {
    await writing.end()
  }
}

const written = async (parts: BackupParts, writing: Writing, madeAt: string): Promise<Manifest> => {
  copyLedger(parts.ledger, writing.ledger)
  const copy = await openLedgerFile(writing.ledger, parts.now)
  let facts: LedgerFacts
  let assets: Manifest['assets']
  try {
    facts = await copy.facts()
    assets =
      'elsewhere' in parts.assets
        ? parts.assets
        : await copyAssets(copy.assets(), parts.assets, writing.assets)
  } finally {
    await copy.close()
  }
  const ledger = await sumOfFile(writing.ledger)
  await writing.keepLedger()
  const broken = facts.audit.filter(({ ok }) => !ok).map(({ check, detail = '' }) => `${check}: ${detail}`)
  return {
    format: 1,
    made_at: madeAt,
    made_by: parts.madeBy,
    engine: 'sqlite',
    schema: newestSchema,
    ledger,
    rows: facts.rows,
    audit: { laws: facts.audit.length, broken },
    assets,
    secret: parts.proof !== undefined ? { proof: parts.proof } : facts.hasSecret ? 'in the ledger' : {},
  }
}
