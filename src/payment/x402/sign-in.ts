/**
 * Signing in with the key of an address: a message that names this server, the time and the address, and a signature under it.
 * Checked without asking anyone. Source: the x402 extension `sign-in-with-x` (header `SIGN-IN-WITH-X`), EIP-4361, EIP-191.
 */
import { isObject, parseJson } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'
import { openSigner, SIGNATURE, type Signer } from './signer.ts'

/** What a sign-in must be for. */
type SignInTerms = {
  /** This server's own address, which no request can choose. */
  readonly origin: string
  readonly pathname: string
  readonly networks: readonly string[]
  readonly now: Instant
}

/** A sign-in is good for so long after it was signed, and whatever it says itself. */
const LIFE_MS = 300_000
/** Clocks differ. */
const AHEAD_MS = 60_000

const HEADER_MOST = 4_096
/** No member can end its line, so that each message is read in one way. */
const LINE = /^[\x20-\x7e]{1,500}$/
const ADDRESS = /^0x[0-9a-f]{40}$/i
const NONCE = /^[a-z0-9]{8,200}$/i
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/

const known = ['domain', 'address', 'uri', 'version', 'chainId', 'nonce', 'issuedAt'] as const
const optional = ['statement', 'expirationTime', 'notBefore', 'requestId'] as const

type Message = Record<(typeof known)[number], string> & Partial<Record<(typeof optional)[number], string>>
type SignIn = { readonly message: Message; readonly resources: readonly string[]; readonly signature: string }

const isLine = (value: unknown): value is string => typeof value === 'string' && LINE.test(value)

const readSignIn = (header: string): SignIn | undefined => {
  const read = header.length > HEADER_MOST ? undefined : parseJson(Buffer.from(header, 'base64').toString())
  if (!isObject(read)) return undefined
  const { resources = [], signature, type = 'eip191' } = read
  const members = [...known, ...optional.filter((name) => read[name] !== undefined)]
  if (!members.every((name) => isLine(read[name])) || type !== 'eip191') return undefined
  if (!Array.isArray(resources) || !resources.every(isLine)) return undefined
  if (!isLine(signature) || !SIGNATURE.test(signature)) return undefined
  const message = Object.fromEntries(members.map((name) => [name, read[name]])) as Message
  return { message, resources, signature }
}

/** The text that was signed. Without a statement, libraries write one empty line or two. */
const textsOf = ({ message: it, resources }: SignIn): readonly string[] => {
  const head = `${it.domain} wants you to sign in with your Ethereum account:\n${it.address}\n`
  const line = (name: string, value: string | undefined) => (value === undefined ? [] : [`${name}: ${value}`])
  const tail = [
    ...line('URI', it.uri),
    ...line('Version', it.version),
    ...line('Chain ID', it.chainId.slice('eip155:'.length)),
    ...line('Nonce', it.nonce),
    ...line('Issued At', it.issuedAt),
    ...line('Expiration Time', it.expirationTime),
    ...line('Not Before', it.notBefore),
    ...line('Request ID', it.requestId),
    ...(resources.length === 0 ? [] : ['Resources:', ...resources.map((one) => `- ${one}`)]),
  ].join('\n')
  return it.statement === undefined
    ? [`${head}\n${tail}`, `${head}\n\n${tail}`]
    : [`${head}\n${it.statement}\n\n${tail}`]
}

const atOf = (text: string): Instant => (INSTANT.test(text) ? Date.parse(text) : Number.NaN)

/** Whether the message is for this server, for this address of it, and for now. */
const isFor = ({ message: it }: SignIn, { origin, pathname, networks, now }: SignInTerms): boolean => {
  const issued = atOf(it.issuedAt)
  // A time that cannot be read is neither before nor after another.
  return (
    it.domain === new URL(origin).host &&
    it.uri === origin + pathname &&
    it.version === '1' &&
    networks.includes(it.chainId) &&
    ADDRESS.test(it.address) &&
    NONCE.test(it.nonce) &&
    issued <= now + AHEAD_MS &&
    issued > now - LIFE_MS &&
    (it.expirationTime === undefined || atOf(it.expirationTime) > now) &&
    (it.notBefore === undefined || atOf(it.notBefore) <= now)
  )
}

let loading: Promise<Signer> | undefined

/** The address in lower case whose key signed in; undefined if none did. */
export const signedInAs = async (header: string, terms: SignInTerms): Promise<string | undefined> => {
  const signIn = readSignIn(header)
  if (signIn === undefined || !isFor(signIn, terms)) return undefined
  loading ??= openSigner()
  const { keccak, signerOf } = await loading
  const address = signIn.message.address.toLowerCase()
  const isSigned = (text: string): boolean =>
    signerOf(
      keccak(`\x19Ethereum Signed Message:\n${Buffer.byteLength(text)}${text}`),
      signIn.signature.toLowerCase(),
    ) === address
  return textsOf(signIn).some(isSigned) ? address : undefined
}
