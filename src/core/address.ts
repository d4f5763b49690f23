/** Network addresses: reading them, which of them are public, blocks of them, and what counts as one caller. */
import { invalid, type Refusal } from './refusal.ts'

/** An address as its bytes: 4 or 16 of them. IPv4 inside IPv6 is read as IPv4. */
type Address = readonly number[]

/** A block of addresses, such as 10.0.0.0/8. */
export type AddressBlock = { readonly address: Address; readonly bits: number }

const V4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/

const readV4 = (text: string): Address | undefined => {
  const match = V4.exec(text)
  if (match === null) return undefined
  const parts = match.slice(1)
  // A leading zero means octal to some readers and decimal to others.
  if (parts.some((part) => Number.parseInt(part, 10) > 255 || (part.length > 1 && part.startsWith('0'))))
    return undefined
  return parts.map((part) => Number.parseInt(part, 10))
}

const groupsOf = (text: string): number[] | undefined => {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [place, group] of groups.entries()) {
    const v4 = place === groups.length - 1 ? readV4(group) : undefined
    if (v4 !== undefined) bytes.push(...v4)
    else if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 255)
    } else return undefined
  }
  return bytes
}

const readV6 = (text: string): Address | undefined => {
  const halves = text.split('::')
  const [head, tail] = [groupsOf(halves[0] ?? ''), groupsOf(halves[1] ?? '')]
  if (halves.length > 2 || head === undefined || tail === undefined) return undefined
  if (halves.length === 1) return head.length === 16 ? head : undefined
  const missing = 16 - head.length - tail.length
  return missing < 2 ? undefined : [...head, ...new Array<number>(missing).fill(0), ...tail]
}

const MAPPED: Address = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

const startsWith = (address: Address, prefix: Address): boolean =>
  prefix.every((byte, place) => address[place] === byte)

/** Reads an IPv4 or IPv6 address, without brackets or zone; undefined for anything else. */
export const readAddress = (text: string): Address | undefined => {
  const address = text.includes(':') ? readV6(text) : readV4(text)
  return address?.length === 16 && startsWith(address, MAPPED) ? address.slice(12) : address
}

/**
 * Reads `address/bits`, or a bare address as a block of one. Undefined also for blocks that hold every address, and for
 * IPv4-mapped ones: a writer may count their bits from the IPv4 part, but the mask counts them from the start.
 */
export const readBlock = (text: string): AddressBlock | undefined => {
  const [name = '', length, ...more] = text.split('/')
  const address = readAddress(name)
  if (address === undefined || more.length > 0) return undefined
  const all = address.length * 8
  if (length === undefined) return { address, bits: all }
  if (!/^\d{1,3}$/.test(length) || (address.length === 4 && name.includes(':'))) return undefined
  const bits = Number.parseInt(length, 10)
  return bits >= 1 && bits <= all ? { address, bits } : undefined
}

/** The address with all but its first bits cleared. */
const masked = (address: Address, bits: number): Address =>
  address.map((byte, place) => {
    const kept = Math.min(8, Math.max(0, bits - place * 8))
    return byte & (0xff << (8 - kept)) & 0xff
  })

export const isWithin = (address: Address, { address: base, bits }: AddressBlock): boolean =>
  address.length === base.length && startsWith(masked(address, bits), masked(base, bits))

/** Whether all of a block, in its text, is inside another. */
export const isBlockWithin = (inner: string, outer: string): boolean => {
  const [within, around] = [readBlock(inner), readBlock(outer)]
  return (
    within !== undefined &&
    around !== undefined &&
    within.bits >= around.bits &&
    isWithin(within.address, around)
  )
}

const blocksOf = (...texts: string[]): readonly AddressBlock[] =>
  texts.flatMap((text) => {
    const block = readBlock(text)
    return block === undefined ? [] : [block]
  })

/** Source: the special-purpose address registries of IANA (RFC 6890), and ways to write IPv4 inside IPv6. */
const notPublic = blocksOf(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
)

/** Whether the address can belong to a stranger's server on the Internet. */
export const isPublic = (address: Address): boolean => !notPublic.some((block) => isWithin(address, block))

/**
 * The caller's address. If the peer of the connection is a trusted proxy, it is the nearest address in
 * `X-Forwarded-For` that is not a proxy. Entries further to the left are only the caller's claim.
 */
export const callerAddress = (
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly AddressBlock[],
): Address | undefined => {
  let nearest = readAddress(peer ?? '')
  const hops = (forwardedFor ?? '').split(',')
  for (let place = hops.length - 1; place >= 0 && nearest !== undefined; place--) {
    const current = nearest
    if (!trusted.some((block) => isWithin(current, block))) return nearest
    const hop = readAddress((hops[place] ?? '').trim())
    if (hop === undefined) return nearest
    nearest = hop
  }
  return nearest
}

/** What counts as one caller: an IPv4 address, or the /64 network that an IPv6 customer is given. */
export const originOf = (address: Address): string =>
  address.length === 4 ? address.join('.') : `${masked(address, 64).slice(0, 8).join('.')}/64`

const URL_MAX = 2_048
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|lan|home|corp|home\.arpa)\.?$|^[^.]+\.?$/i

/**
 * Whether a URL's host can be a stranger's server on the Internet: no address or name that only an inner network knows.
 */
export const isPublicHost = (hostname: string): boolean => {
  const host = hostname.replace(/^\[|\]$/g, '')
  const address = readAddress(host)
  return address === undefined ? !LOCAL_NAME.test(host) : isPublic(address)
}

/**
 * Reads the address of a server that we may call on someone's behalf: https, the usual port, no credentials, not ours.
 */
export const publicHttpsUrl = (name: string, value: unknown): string | Refusal => {
  const wrong = (what: string) => invalid(name, `'${name}' ${what}.`)
  if (typeof value !== 'string' || value.length > URL_MAX || !URL.canParse(value))
    return wrong('must be an https address')
  const url = new URL(value)
  if (url.protocol !== 'https:') return wrong('must begin with https://')
  if (url.username !== '' || url.password !== '') return wrong('must not hold credentials')
  if (url.port !== '') return wrong('must use the usual port of https')
  if (!isPublicHost(url.hostname)) return wrong('must be a public server on the Internet')
  url.hash = ''
  return url.href
}
