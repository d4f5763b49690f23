/** The message when the database cannot be opened: where it is (never its password), and what it answered. */
import { messageOf } from '../../core/message-of.ts'
import { Misfit } from '../../store/engine/migrate.ts'
import { isLocked } from '../../store/engine/sqlite.ts'

const FRESH_PORT = '5432'

/** Where the ledger is, as far as that may be shown. */
const placeOf = (url: string): string => {
  if (url.startsWith('sqlite:')) return url
  if (!URL.canParse(url)) return 'the PostgreSQL of DATABASE_URL'
  const { hostname, port, pathname, username } = new URL(url)
  const name = decodeURIComponent(pathname.slice(1))
  return [
    `PostgreSQL at ${hostname}:${port || FRESH_PORT}`,
    ...(name === '' ? [] : [`database ${name}`]),
    ...(username === '' ? [] : [`user ${decodeURIComponent(username)}`]),
  ].join(', ')
}

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
]

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const stateOf = (error: unknown): string =>
  error instanceof Error && 'errno' in error && typeof error.errno === 'string' ? error.errno : ''

/** Whether the server was reached and refused: a wrong password, user or database does not become right by waiting. */
const isRefusal = (error: unknown): boolean => /^(28|3D|42501)/.test(stateOf(error))

/** Whether the database may be there later: a PostgreSQL that does not answer yet, a file that another process holds. */
export const mayPass = (url: string, error: unknown): boolean =>
  url.startsWith('sqlite:') ? isLocked(error) : !isRefusal(error) && !(error instanceof Misfit)

/** Why it cannot be opened and what to do, in one line. */
export const whyNotOpen = (url: string, error: unknown): string => {
  const fix = fixes.find(([codes]) => codes.test(codeOf(error)))?.[1]
  return `${placeOf(url)}: ${fix ?? messageOf(error)}${isRefusal(error) ? ' (check DATABASE_URL)' : ''}`
}
