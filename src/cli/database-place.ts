/** The message when the database cannot be opened: where it is (never its password), and what it answered. */
import { messageOf } from '../core/message-of.ts'

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

const stateOf = (error: unknown): string =>
  error instanceof Error && 'errno' in error && typeof error.errno === 'string' ? error.errno : ''

/** Whether the server was reached and refused: a wrong password, user or database does not become right by waiting. */
export const isRefusal = (error: unknown): boolean => /^(28|3D|42501)/.test(stateOf(error))

/** Why it cannot be opened, in one line. */
export const whyNotOpen = (url: string, error: unknown): string => {
  const unreached =
    error instanceof Error && 'code' in error && error.code === 'ERR_POSTGRES_CONNECTION_REFUSED'
  const reason = unreached ? 'nothing answers there, or the name is not known' : messageOf(error)
  return `${placeOf(url)}: ${reason}${isRefusal(error) ? ' (check DATABASE_URL)' : ''}`
}
