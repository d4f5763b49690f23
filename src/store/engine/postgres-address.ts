/** The address of a PostgreSQL: its hosts, how they are reached, and which of them may be used. Names follow libpq's. */
import { readFileSync } from 'node:fs'
import { messageOf } from '../../core/message-of.ts'

/** An address that cannot be used. The message is one line without the password, to follow `DATABASE_URL: `. */
export class BadAddress extends Error {}

export type PostgresHost = {
  /** What the driver gets: one host, and of the parameters only `sslmode`. */
  readonly url: string
  /** `host:port`, for people. */
  readonly shown: string
}

export type PostgresAddress = {
  readonly hosts: readonly [PostgresHost, ...PostgresHost[]]
  /** Certificates in PEM: of who signs the server's, and our own. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined
  /** Whether a host that takes no writes is passed over, as a standby is. */
  readonly mustWrite: boolean
  /** How long a connection may take to open. */
  readonly connectSeconds: number
}

const CONNECT_SECONDS = 2
const FRESH_PORT = '5432'
const VERIFYING = ['require', 'verify-ca', 'verify-full']
const parameters: Readonly<Record<string, RegExp>> = {
  connect_timeout: /^[1-9]\d{0,3}$/,
  sslmode: /^(disable|prefer|require|verify-ca|verify-full)$/,
  sslrootcert: /./,
  sslcert: /./,
  sslkey: /./,
  target_session_attrs: /^(any|read-write|primary)$/,
}

/** What is before the hosts, the hosts, and what follows them. */
const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s

/** The same address once for each of its hosts. Throws BadAddress. */
export const urlsOf = (text: string): readonly [URL, ...URL[]] => {
  const [, before = '', hosts = '', after = ''] = SHAPE.exec(text) ?? []
  const [first, ...others] = hosts.split(',').map((host) => {
    const url = `${before}${host}${after}`
    if (host === '' || !URL.canParse(url))
      throw new BadAddress('must be postgres://<user>:<password>@<host>:<port>,<host>:<port>/<database>')
    return new URL(url)
  })
  if (first === undefined) throw new BadAddress('names no host')
  return [first, ...others]
}

export const shownHost = ({ hostname, port }: URL): string => `${hostname}:${port || FRESH_PORT}`

/** Throws BadAddress for a parameter that has no meaning here, or another value than it may have. */
const check = (given: URLSearchParams): void => {
  for (const [name, value] of given) {
    const shape = parameters[name]
    if (shape === undefined)
      throw new BadAddress(`has no parameter '${name}'; there are ${Object.keys(parameters).join(', ')}`)
    if (!shape.test(value)) throw new BadAddress(`'${name}' cannot be '${value}'${wordsOf(shape)}`)
  }
}

/** The words that a parameter may be, if it is one of some. */
const wordsOf = ({ source }: RegExp): string => {
  const words = /^\^\((.+)\)\$$/.exec(source)?.[1]
  return words === undefined ? '' : `; it may be ${words.replaceAll('|', ', ')}`
}

const pemIn = (given: URLSearchParams, name: string): string | undefined => {
  const path = given.get(name)
  if (path === null) return undefined
  try {
    const text = readFileSync(path, 'utf8')
    if (/^-----BEGIN /m.test(text)) return text
  } catch (error) {
    throw new BadAddress(`${name} names '${path}', which cannot be read: ${messageOf(error)}`)
  }
  throw new BadAddress(`${name} names '${path}', which is not in PEM form`)
}

const tlsOf = (given: URLSearchParams): PostgresAddress['tls'] => {
  const mode = given.get('sslmode') ?? ''
  for (const name of ['sslrootcert', 'sslcert', 'sslkey'])
    if (given.has(name) && !VERIFYING.includes(mode))
      throw new BadAddress(`${name} needs sslmode=${VERIFYING.join(', ')}`)
  if (given.has('sslcert') !== given.has('sslkey'))
    throw new BadAddress('sslcert and sslkey belong together: set both')
  // The authorities that the runtime trusts.
  const ca = given.get('sslrootcert') === 'system' ? undefined : pemIn(given, 'sslrootcert')
  const [cert, key] = [pemIn(given, 'sslcert'), pemIn(given, 'sslkey')]
  if (ca === undefined && cert === undefined) return undefined
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  }
}

/** As libpq has it: with a root certificate, `require` also verifies by it. */
const modeOf = (given: URLSearchParams): string | null => {
  const mode = given.get('sslmode')
  return mode === 'require' && given.has('sslrootcert') ? 'verify-ca' : mode
}

const hostOf = (url: URL): PostgresHost => {
  const mode = modeOf(url.searchParams)
  const own = new URL(url)
  own.search = mode === null ? '' : `?sslmode=${mode}`
  return { url: own.href, shown: shownHost(url) }
}

/**
 * Reads an address and the certificates that it names. Of several hosts one that takes writes is used, unless
 * `target_session_attrs=any`. Throws BadAddress.
 */
export const readPostgresAddress = (text: string): PostgresAddress => {
  const urls = urlsOf(text)
  const given = urls[0].searchParams
  check(given)
  const [first, ...others] = urls
  const target = given.get('target_session_attrs') ?? (others.length > 0 ? 'read-write' : 'any')
  return {
    hosts: [hostOf(first), ...others.map(hostOf)],
    tls: tlsOf(given),
    mustWrite: target !== 'any',
    connectSeconds: Number(given.get('connect_timeout') ?? CONNECT_SECONDS),
  }
}
