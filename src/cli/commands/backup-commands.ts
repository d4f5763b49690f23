/** `turnpike backup` and `turnpike restore`: a copy of the ledger elsewhere, and the ledger from such a copy. */
import { constants, setPriority } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { version } from '../../../package.json'
import { openFolder } from '../../assets/folder.ts'
import { bucketPlace, bucketSource } from '../../backup/bucket-place.ts'
import { folderPlace, folderSource } from '../../backup/folder-place.ts'
import { noteBackup } from '../../backup/last-backup.ts'
import { makeBackup } from '../../backup/make-backup.ts'
import type { Manifest } from '../../backup/manifest.ts'
import { type Restored, restoreBackup } from '../../backup/restore-backup.ts'
import { messageOf } from '../../core/message-of.ts'
import { type Instant, systemClock } from '../../core/time.ts'
import { urlsOf } from '../../store/engine/postgres-address.ts'
import { fileOf } from '../../store/ledger-file.ts'
import { ledgerExists } from '../../store/open-store.ts'
import { bucketNamed } from '../config/bucket-name.ts'
import { type Config, readConfig } from '../config/config.ts'
import { secretProof } from '../config/parts.ts'
import { counted, Failed, noLedger, print, withDatabase } from '../run/run-command.ts'

type Options = { readonly json?: boolean }
type BackupOptions = Options & { readonly made?: boolean }

export const backupCommand = (program: Command): void => {
  program
    .command('backup <place>')
    .description('make a copy of the ledger, and of results beside it, in a folder or s3://<bucket>/<prefix>')
    .option('--made', 'only note that one was made there just now, with other tools; see docs/backup.md')
    .option('--json', 'for programs')
    .action(backup)
}

export const restoreCommand = (program: Command): void => {
  program
    .command('restore <backup>')
    .description('restore a backup into DATABASE_URL, which must have no ledger yet, and audit it')
    .option('--json', 'for programs')
    .action(restore)
}

/** What a disk reports when it takes no more: it is full, or over a quota. */
const FULL = /^(SQLITE_(FULL|IOERR)|ENOSPC|EFBIG|EDQUOT)/

const reasonOf = (error: unknown): string => {
  const full = error instanceof Error && 'code' in error && FULL.test(String(error.code))
  return full
    ? `the disk takes no more data (is it full, or is there a quota?): ${messageOf(error)}`
    : messageOf(error)
}

/** Where a name leads: a bucket with the settings' credentials, or a folder. */
const bucketOf = (place: string, { backup: { keyId, secret, endpoint, region } }: Config) => {
  const named = bucketNamed(place)
  if (named === undefined) return undefined
  if (keyId === undefined || secret === undefined)
    throw new Failed('a backup in a bucket needs BACKUP_KEY_ID and BACKUP_SECRET')
  return { ...named, keyId, secret, endpoint, region }
}

/** The copy and its audit keep a processor busy while they run, so calls get priority. */
const giveWay = (): void => {
  try {
    setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // Some containers do not let a process change its priority.
  }
}

/** Servers tell the age of what is noted (`turnpike_backup_timestamp_seconds`). */
const noteMade = async (config: Config, madeAt: Instant): Promise<void> =>
  withDatabase(({ store }) => noteBackup(store, madeAt), config)

const backup = async (place: string, { json, made }: BackupOptions): Promise<void> => {
  if (made === true) {
    const madeAt = systemClock.now()
    await noteMade(readConfig(process.env), madeAt)
    const at = new Date(madeAt).toISOString()
    print(json, { backup: place, made_at: at }, `The backup in ${place} is noted as of ${at}.\n`)
    return
  }
  giveWay()
  const config = readConfig(process.env)
  const ledger = fileOf(config.databaseUrl)
  if (ledger === undefined) {
    process.stdout.write(dumpCommands(config.databaseUrl, place))
    throw new Failed('nothing was backed up: PostgreSQL has its own tools for that, as shown above')
  }
  if (!(await ledgerExists({ url: config.databaseUrl }))) throw noLedger(config.databaseUrl)
  const bucket = bucketOf(place, config)
  const { at, manifest } = await makeBackup({
    ledger,
    assets:
      'folder' in config.assets.place
        ? openFolder(config.assets.place.folder)
        : { elsewhere: `s3://${config.assets.place.bucket}/${config.assets.place.prefix}` },
    place:
      bucket === undefined
        ? folderPlace(resolve(place))
        : bucketPlace(bucket, join(dirname(resolve(ledger)), '.turnpike-backup')),
    now: systemClock.now,
    madeBy: `turnpike ${version}`,
    proof: secretProof(config),
  }).catch((error: unknown) => {
    throw new Failed(`no backup was made, and the ledger is as it was: ${reasonOf(error)}`)
  })
  print(json, { backup: at, ...manifest }, madeText(at, manifest))
  const { broken, laws } = manifest.audit
  if (broken.length > 0)
    throw new Failed(
      `the backup is whole, but ${broken.length} of ${laws} invariants of the ledger do not hold; read docs/operations.md`,
    )
  await noteMade(config, Date.parse(manifest.made_at)).catch((error: unknown) => {
    throw new Failed(`the backup is whole, but could not be noted in the ledger: ${messageOf(error)}`)
  })
}

const madeText = (at: string, { made_at, ledger, rows, audit, assets, secret }: Manifest): string => {
  const beside =
    'elsewhere' in assets
      ? `Not part of it: the results in ${assets.elsewhere}, which that bucket has to keep.`
      : `Results beside the ledger: ${counted(assets.files, 'file')}, ${assets.bytes} bytes; ${counted(assets.gone, 'was', 'were')} gone.`
  const keys =
    secret === 'in the ledger'
      ? 'It holds the secret that keys are hashed under and receipts are signed with: keep it as you keep those.'
      : 'Not part of it: TURNPIKE_SECRET. Keep it elsewhere; without it every key is unknown.'
  return `${at}
  the ledger of ${made_at}: ${ledger.bytes} bytes, ${counted(rows.transfer ?? 0, 'posting')}, ${counted(rows.api_key ?? 0, 'key')}
  audit of the copy: ${audit.laws - audit.broken.length} of ${audit.laws} invariants hold
  ${beside}
  ${keys}
  Not part of it: the environment and turnpike.yaml, with the keys of vendors.
`
}

const restore = async (from: string, { json }: Options): Promise<void> => {
  const config = readConfig(process.env)
  const bucket = bucketOf(from.endsWith('/') ? from : `${from}/`, config)
  const source = bucket === undefined ? folderSource(resolve(from)) : bucketSource(bucket)
  if (fileOf(config.databaseUrl) === undefined) {
    if ((await source.manifest()) !== undefined)
      throw new Failed(
        `nothing was restored: ${from} is of a ledger in SQLite; give it a DATABASE_URL such as sqlite:./data/turnpike.db`,
      )
    process.stdout.write(restoreCommands(config.databaseUrl, from))
    throw new Failed('nothing was restored: PostgreSQL has its own tools for that, as shown above')
  }
  const place = config.assets.place
  const restored = await restoreBackup({
    source,
    from,
    url: config.databaseUrl,
    assets: 'folder' in place ? openFolder(place.folder) : undefined,
    now: systemClock.now,
  }).catch((error: unknown) => {
    throw new Failed(`nothing was restored: ${reasonOf(error)}`)
  })
  const { manifest, facts, assets } = restored
  const before = beforeStart(config, manifest)
  print(
    json,
    {
      ledger: config.databaseUrl,
      made_at: manifest.made_at,
      audit: facts.audit,
      rows: facts.rows,
      assets,
      before_you_start: before?.set ?? null,
    },
    restoredText(config, restored, before?.set),
  )
  const broken = facts.audit.filter(({ ok }) => !ok)
  if (broken.length > 0)
    throw new Failed(
      `the ledger is restored, but ${broken.length} of ${facts.audit.length} invariants do not hold: ${broken.map(({ check }) => check).join('; ')}`,
    )
  if (assets !== undefined && 'gone' in manifest.assets && assets.files < manifest.assets.files)
    throw new Failed(
      `the ledger is restored, but ${counted(manifest.assets.files - assets.files, 'result beside it is', 'results beside it are')} missing or damaged in the backup`,
    )
  if (before?.wrong === true)
    throw new Failed(`the ledger is restored, but not for these settings: before you start ${before.set}`)
}

/** What is to be set before a start, because every key would be unknown; `wrong` if another secret is set, and not none. */
const beforeStart = ({ secret: own, secretOld }: Config, { secret }: Manifest) => {
  if (secret === 'in the ledger')
    return own === undefined || secretOld?.reveal() === 'database'
      ? undefined
      : {
          set: 'take TURNPIKE_SECRET away, or set TURNPIKE_SECRET_OLD=database, or every key is unknown.',
          wrong: true,
        }
  const proofs = [own, secretOld].map((one) => secretProof({ secret: one }))
  if (secret.proof !== undefined && proofs.includes(secret.proof)) return undefined
  return {
    set: 'set TURNPIKE_SECRET to what it was, or every key is unknown.',
    wrong: own !== undefined && secret.proof !== undefined,
  }
}

const restoredText = (config: Config, { manifest, facts, assets }: Restored, before?: string): string => {
  const lines = [
    `${config.databaseUrl} is the ledger of ${manifest.made_at}`,
    `  audit: ${facts.audit.filter(({ ok }) => ok).length} of ${facts.audit.length} invariants hold`,
    ...(assets === undefined
      ? []
      : [`  results beside it: ${counted(assets.files, 'file')}, ${assets.bytes} bytes`]),
    ...(before === undefined ? [] : [`  Before you start: ${before}`]),
    '  What was charged later is not in it: docs/backup.md says what to do.',
  ]
  return `${lines.join('\n')}\n`
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The address without its password, which the tools read from PGPASSWORD or ~/.pgpass; of that database or another. */
const withoutPassword = (url: string, name?: string): string => {
  const hosts = urlsOf(url)
  const { protocol, username, pathname, search } = hosts[0]
  const user = username === '' ? '' : `${username}@`
  const path = name === undefined ? pathname : `/${name}`
  return `${protocol}//${user}${hosts.map(({ host }) => host).join(',')}${path}${search}`
}

const RESTORED = 'turnpike_restored'

const restoring = (url: string, dump: string): string => `
  createdb --maintenance-db=${quoted(withoutPassword(url, 'postgres'))} ${RESTORED}
  pg_restore --exit-on-error --no-owner --dbname=${quoted(withoutPassword(url, RESTORED))} ${quoted(dump)}
  DATABASE_URL=${quoted(withoutPassword(url, RESTORED))} turnpike audit
`

const PASSWORD = 'The password is read from PGPASSWORD or ~/.pgpass, and is not shown here.\n'

/** How to make a backup in that place, and how to verify it. */
export const dumpCommands = (url: string, place: string): string => {
  const folder = /^[a-z0-9]+:\/\//i.test(place) ? '.' : place.replace(/\/+$/, '')
  const dump = `${folder === '' ? '' : folder}/turnpike.dump`
  return `A ledger in PostgreSQL is backed up while it is served by PostgreSQL's own tools. All of it, as of one moment:

  pg_dump --format=custom --file=${quoted(dump)} --dbname=${quoted(withoutPassword(url))}

Afterwards \`turnpike backup --made ${quoted(place)}\` notes in the ledger when that was, for the alert about old backups.

A dump is proved by restoring it beside the ledger and auditing what came of it:
${restoring(url, dump)}
For a ledger that is large, or of which no minute may be lost: pg_basebackup with an archive of the log (WAL), or a
synchronous standby. ${PASSWORD}`
}

/** How to restore a dump. */
export const restoreCommands = (url: string, dump: string): string =>
  `A dump of PostgreSQL is restored into an empty database by PostgreSQL's own tools, and then audited:
${restoring(url, dump)}
${PASSWORD}`
