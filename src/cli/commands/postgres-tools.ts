/** PostgreSQL is backed up with its own tools; this prints the commands for the configured database. */
import { urlsOf } from '../../store/engine/postgres-address.ts'

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
