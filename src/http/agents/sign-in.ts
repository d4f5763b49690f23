/**
 * Signing in from an agent: the device flow (RFC 8628) with its metadata (RFC 8414), tokens, their refresh, and their end
 * (RFC 7009), as Claude Code's gateway protocol asks for it: code.claude.com/docs/en/llm-gateway-protocol.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { askAgain } from '../../console/sign-in/ask-again.ts'
import { endLogin, LOGIN_MS } from '../../control/people/logins.ts'
import { personById } from '../../control/people/new-person.ts'
import { Refusal, refuse } from '../../core/refusal.ts'
import { harmless, storable } from '../../core/storable.ts'
import { ACCESS, type Access, newAccessToken, readAccessToken } from '../../gateway/enter/access-token.ts'
import { ownerOf } from '../../gateway/enter/incoming.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { theHouse } from '../../store/people/event-port.ts'
import type { SignedIn } from '../../store/people/login-port.ts'
import { isBlocked } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { originOfCall } from '../request/origin.ts'
import { readBody } from '../request/read-body.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { addressOf } from '../route/router.ts'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

const ASK_MS = 600_000
const EVERY_MS = 5_000
const TOKEN_MS = 3_600_000
/** Several agents of a person refresh at about the same time. */
const ASK_COMPANY_MS = 60_000
const FORM_BYTES_MAX = 8 * 1024
const FORM_TYPE = /^application\/x-www-form-urlencoded/i
const SURFACE_MAX = 60
/** No vowels, so that no code is a word, and nothing that looks like something else: RFC 8628, section 6.1. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const DRAWS = 5

/** The words of RFC 6749, section 5.2, and RFC 8628, section 3.5. */
type OauthError =
  | 'invalid_request'
  | 'unsupported_grant_type'
  | 'invalid_grant'
  | 'temporarily_unavailable'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'

const refused = (error: OauthError, status = 400, description?: string): Answer =>
  json({ error, ...(description === undefined ? {} : { error_description: description }) }, status)

/** Where people reach the console, which signs them in. Throws where there is none. */
const originFor = (gateway: Gateway, call: HttpCall): string => {
  if (gateway.console === undefined)
    throw refuse('not_found', 'Nobody signs in here: this server has no console (CONSOLE). Use a key.')
  return gateway.console.origin ?? new URL(addressOf(call.request)).origin
}

export const getSignInMetadata: Handler = async (gateway, call) => {
  originFor(gateway, call)
  // Clients take an endpoint only at the origin that they asked.
  const { origin } = new URL(addressOf(call.request))
  return json({
    issuer: origin,
    device_authorization_endpoint: `${origin}/oauth/device_authorization`,
    token_endpoint: `${origin}/oauth/token`,
    revocation_endpoint: `${origin}/oauth/revoke`,
    grant_types_supported: [DEVICE_GRANT, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
  })
}

/** What is no form has no members. */
const readForm = async (gateway: Gateway, call: HttpCall): Promise<URLSearchParams> =>
  FORM_TYPE.test(call.request.headers.get('content-type') ?? '')
    ? new URLSearchParams(new TextDecoder().decode(await readBody(gateway, call, FORM_BYTES_MAX, FORM_TYPE)))
    : new URLSearchParams()

const drawCode = (): string =>
  Array.from({ length: 8 }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('')

/** An agent asks to be signed in: it shows the code, and a person approves it in the console. */
export const askSignIn: Handler = async (gateway, call) => {
  const origin = originFor(gateway, call)
  takeGuestTurn(gateway, 'sign-in', originOfCall(gateway, call), call.trace)
  const form = await readForm(gateway, call)
  const deviceCode = randomBytes(32).toString('base64url')
  const surface = harmless(storable(form.get('surface') || 'an agent')).slice(0, SURFACE_MAX)
  const deviceHash = gateway.hash(deviceCode)
  const ask = {
    id: deviceHash.slice(0, 24),
    deviceHash,
    surface,
    address: originOfCall(gateway, call),
    lifeMs: ASK_MS,
  }
  for (let draw = 0; draw < DRAWS; draw++) {
    const userCode = drawCode()
    if (!(await gateway.store.logins.askLogin({ ...ask, userCode }))) continue
    const shown = `${userCode.slice(0, 4)}-${userCode.slice(4)}`
    return json({
      device_code: deviceCode,
      user_code: shown,
      verification_uri: `${origin}/console/device`,
      verification_uri_complete: `${origin}/console/device?user_code=${shown}`,
      expires_in: ASK_MS / 1000,
      interval: EVERY_MS / 1000,
    })
  }
  return refused('temporarily_unavailable', 503, 'No code is free; ask again.')
}

/** The hashes under which a secret may be stored, while the server's own changes. */
const hashesOf = ({ hash }: Gateway, secret: string): readonly string[] => [
  hash(secret),
  ...(hash.before === undefined ? [] : [hash.before(secret)]),
]

const tokensOf = async (gateway: Gateway, { keyId, personId, id: login }: SignedIn, refreshToken: string) => {
  const person = await personById(gateway.store.people, personId)
  return {
    access_token: newAccessToken(gateway, { keyId, login }, gateway.clock.now() + TOKEN_MS),
    token_type: 'Bearer',
    expires_in: TOKEN_MS / 1000,
    refresh_token: refreshToken,
    ...(person === undefined ? {} : { email: person.email }),
  }
}

const POLLED = { authorization_pending: 400, slow_down: 429, access_denied: 400, expired_token: 400 } as const

const byDevice = async (gateway: Gateway, deviceCode: string): Promise<Answer> => {
  // The same for each poll, so that an answer that was lost can be had again; nobody else knows the device code.
  const refreshToken = `rt-${gateway.hash(`refresh token of ${deviceCode}`)}`
  const polled = await gateway.store.logins.pollLogin({
    deviceHashes: hashesOf(gateway, deviceCode),
    refreshHash: gateway.hash(refreshToken),
    everyMs: EVERY_MS,
    lifeMs: LOGIN_MS,
  })
  return typeof polled === 'string'
    ? refused(polled, POLLED[polled])
    : json(await tokensOf(gateway, polled, refreshToken))
}

/** The sign-in has ended: its key was disabled or deleted, the person has left, or their company refuses them. */
const signInIsOver = (): Answer => refused('invalid_grant', 401, 'The sign-in has ended; sign in again.')

const byRefresh = async (gateway: Gateway, call: HttpCall, refreshToken: string): Promise<Answer> => {
  const login = await gateway.store.logins.loginOf(hashesOf(gateway, refreshToken))
  if (login === undefined) return signInIsOver()
  const asking = { personId: login.personId, origin: originFor(gateway, call), everyMs: ASK_COMPANY_MS }
  const standing = await askAgain(gateway, asking)
  if (standing === 'refused') return signInIsOver()
  if (standing === 'away')
    return refused('temporarily_unavailable', 503, 'Your company’s sign-in does not answer; try again.')
  const { access_token: token, ...more } = await tokensOf(gateway, login, refreshToken)
  try {
    // A key that has reached a cap is disabled too, but its agent stays signed in, and is told of the cap when it calls.
    if (isBlocked(await ownerOf(gateway, `Bearer ${token}`, call.trace))) return signInIsOver()
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.status < 500) return signInIsOver()
    throw thrown
  }
  return json({ access_token: token, ...more })
}

/** Counts an ask for a token; whoever asks too often is told so in the words that clients slow down for. */
const isTooSoon = (gateway: Gateway, call: HttpCall): boolean => {
  try {
    takeGuestTurn(gateway, 'token', originOfCall(gateway, call), call.trace)
    return false
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.code === 'rate_limit_exceeded') return true
    throw thrown
  }
}

/** Tokens for an approved request, or for a refresh token. Clients do not say who they are: there is nothing to prove. */
export const giveToken: Handler = async (gateway, call) => {
  originFor(gateway, call)
  if (isTooSoon(gateway, call)) return refused('slow_down', 429)
  const form = await readForm(gateway, call)
  const grant = form.get('grant_type')
  const [device, refresh] = [form.get('device_code'), form.get('refresh_token')]
  if (grant === DEVICE_GRANT)
    return device ? byDevice(gateway, device) : refused('invalid_request', 400, "'device_code' is required.")
  if (grant === 'refresh_token')
    return refresh
      ? byRefresh(gateway, call, refresh)
      : refused('invalid_request', 400, "'refresh_token' is required.")
  return grant
    ? refused('unsupported_grant_type', 400, `'grant_type' must be ${DEVICE_GRANT} or refresh_token.`)
    : refused(
        'invalid_request',
        400,
        "'grant_type' is required, in a form (application/x-www-form-urlencoded).",
      )
}

/** Signs an agent out, by either token; what is none of ours is told the same. Source: RFC 7009, section 2.2. */
export const endSignIn: Handler = async (gateway, call) => {
  originFor(gateway, call)
  takeGuestTurn(gateway, 'token', originOfCall(gateway, call), call.trace)
  const token = (await readForm(gateway, call)).get('token')
  if (!token) return refused('invalid_request', 400, "'token' is required.")
  const access = await accessOf(gateway, token)
  if (access !== undefined) await endLogin(gateway, access, { ...theHouse, name: 'a signed-in agent' })
  return json({})
}

const accessOf = async (gateway: Gateway, token: string): Promise<Access | undefined> => {
  if (token.startsWith(ACCESS)) {
    // One whose hour is over still says whose sign-in it is: an agent that slept signs out too.
    const read = readAccessToken(gateway.hash, token, 0)
    return read instanceof Refusal ? undefined : read
  }
  const login = await gateway.store.logins.loginOf(hashesOf(gateway, token))
  return login === undefined ? undefined : { keyId: login.keyId, login: login.id }
}
