/** The message when the database cannot be opened: where it is (never its password), and what it answered. */
import { messageOf } from '../../core/message-of.ts'
import { Misfit } from '../../store/engine/migrate.ts'
import { BadAddress, shownHost, urlsOf } from '../../store/engine/postgres-address.ts'
import { HostsFail } from '../../store/engine/postgres-pool.ts'
import { isLocked } from '../../store/engine/sqlite.ts'

/** Where the ledger is, as far as that may be shown. */
export const placeOf = (url: string): string => {
  if (url.startsWith('sqlite:')) return url
  const hosts = urlsOf(url)
  const { pathname, username } = hosts[0]
  const name = decodeURIComponent(pathname.slice(1))
  return [
    `PostgreSQL at ${hosts.map(shownHost).join(' or ')}`,
    ...(name === '' ? [] : [`database ${name}`]),
    ...(username === '' ? [] : [`user ${decodeURIComponent(username)}`]),
  ].join(', ')
}

const UNTRUSTED = /^(UNABLE_TO_(GET|VERIFY)|SELF_SIGNED|DEPTH_ZERO)/

/** What an operator can do about a refusal, by the beginning of its code. */
const fixes: readonly (readonly [codes: RegExp, fix: string])[] = [
  [
    /^SQLITE_BUSY/,
    'another process has locked it, such as a backup or a command; end it, or start again when it has ended',
  ],
  [
    /^SQLITE_NOTADB/,
    'the file is no database; set DATABASE_URL to your ledger, or to a file that does not exist yet',
  ],
  [
    /^(EACCES|EPERM|EROFS|SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM)/,
    'this user may not write there; give it the folder and its files (chown), or set DATABASE_URL to another path',
  ],
  [/^(ENOENT|ENOTDIR|EISDIR|EEXIST)/, 'there can be no such file; set DATABASE_URL to another path'],
  [/^(ENOSPC|SQLITE_FULL)/, 'the disk is full; make space, or set DATABASE_URL to a path on another disk'],
  [
    /^ERR_POSTGRES_CONNECTION_REFUSED/,
    'nothing answers there, or the name is not known; start PostgreSQL, or correct DATABASE_URL',
  ],
  [
    /^ERR_POSTGRES_TLS_NOT_AVAILABLE/,
    'it speaks no TLS; turn `ssl` on there, or correct sslmode in DATABASE_URL',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID/,
    'its certificate is of another name; use that name in DATABASE_URL, or sslmode=verify-ca',
  ],
  [/^CERT_HAS_EXPIRED/, 'its certificate has expired; give it a new one'],
  [
    UNTRUSTED,
    'its certificate is signed by none whom this server trusts; name the certificate of who signs it in DATABASE_URL, as sslrootcert=<file>',
  ],
]

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const stateOf = (error: unknown): string =>
  error instanceof Error && 'errno' in error && typeof error.errno === 'string' ? error.errno : ''

/** Whether the server was reached and refused: a wrong password, user or database does not become right by waiting. */
const isRefusal = (error: unknown): boolean => /^(28|3D|42501)/.test(stateOf(error))

/** Neither does a setting, a certificate, or a ledger of another version. */
const stays = (error: unknown): boolean =>
  isRefusal(error) ||
  error instanceof Misfit ||
  error instanceof BadAddress ||
  (error instanceof HostsFail && error.errors.every(stays)) ||
  /^(ERR_POSTGRES_TLS_NOT_AVAILABLE|ERR_TLS_CERT)/.test(codeOf(error)) ||
  UNTRUSTED.test(codeOf(error))

/** Whether the database may be there later: a PostgreSQL that does not answer yet, a file that another process holds. */
export const mayPass = (url: string, error: unknown): boolean =>
  url.startsWith('sqlite:') ? isLocked(error) : !stays(error)

const reasonOf = (error: unknown): string => {
  const fix = fixes.find(([codes]) => codes.test(codeOf(error)))?.[1]
  return `${fix ?? messageOf(error)}${isRefusal(error) ? ' (check DATABASE_URL)' : ''}`
}

/** Why it cannot be opened and what to do, in one line. */
export const whyNotOpen = (url: string, error: unknown): string =>
  error instanceof HostsFail
    ? `${placeOf(url)}: ${error.errors.map((one, at) => `${error.hosts[at]}: ${reasonOf(one)}`).join('; ')}`
    : `${placeOf(url)}: ${reasonOf(error)}`
