/**
 * Coming from the console of another cell. The hand-over is taken once, for a cookie of this browser; with that, and with
 * what else the account here asks for, the person is signed in.
 */

import { takeAttempt } from '../../control/people/attempts.ts'
import { mintLink } from '../../control/people/links.ts'
import { type Person, personBy } from '../../control/people/new-person.ts'
import { PROOF_MS, prove } from '../../control/people/proof.ts'
import { refuse } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { ConsoleRoute, Here, Reply } from '../here.ts'
import { bodied } from '../row.ts'
import { enterBody } from '../schema/cells.ts'
import { checkCode, codeRequired } from '../sign-in/codes.ts'
import { signInFailed, wrongSignIn } from '../sign-in/credentials.ts'
import { cookiesOf, headersOf, recordSignIn, sentBack } from '../sign-in/session-parts.ts'
import { type HandOver, isInTime, opened, signed } from './hand-over.ts'
import { otherCells } from './others.ts'

/** How long somebody may look for the code of their app. */
const HALF_MS = 10 * 60_000
/** A session from another cell ends then: what ends at that cell, such as a company's word, ends here by then too. */
const SESSION_MS = 12 * 3_600_000
/** The link that the library makes the session of, in the same request. */
const LINK_MS = 60_000

const HALF = 'half of a sign-in from a cell'

const isSecure = (origin: string): boolean => origin.startsWith('https://')
const cookieName = (origin: string): string => `${isSecure(origin) ? '__Host-' : ''}turnpike_entering`

const cookie = (origin: string, value: string, ms: number): string =>
  `${cookieName(origin)}=${value}; Max-Age=${ms / 1_000}; Path=/; HttpOnly; SameSite=Lax${isSecure(origin) ? '; Secure' : ''}`

/** The form that another cell's console has sent, as its request came. */
type Brought = {
  readonly handOver: string
  /** The header `Origin`: which page sends it. A page of another site cannot write that. */
  readonly sentBy: string | null
  /** This console's address, and that of the network. */
  readonly origin: string
  readonly address: string
}

/** Why it is not taken; undefined if it is. */
const wrongWith = (gateway: Gateway, it: HandOver | undefined, { sentBy }: Brought): string | undefined => {
  if (it === undefined) return 'its signature is not ours'
  const home = otherCells(gateway).find(({ name }) => name === it.from)
  if (it.to !== gateway.cells?.own || home === undefined)
    return 'it is for another cell, or of an unknown one'
  if (sentBy !== home.console) return 'it comes from a page of another origin'
  const now = gateway.clock.now()
  if (!isInTime(it, now)) return 'it has expired'
  return now - it.proof.at < PROOF_MS ? undefined : 'the proof of the address is too old'
}

/**
 * Takes a hand-over, once. Returns the cookie to set: with a right one it lets this browser go on for ten minutes, else it
 * ends what was there. Throws a 429 after too many attempts.
 */
export const takeHandOver = async (gateway: Gateway, brought: Brought): Promise<string> => {
  await takeAttempt({ gateway, request: brought })
  const it = opened(gateway.hash, 'hand-over between cells', brought.handOver)
  let wrong = wrongWith(gateway, it, brought)
  if (it !== undefined && wrong === undefined) {
    if ((await gateway.store.members.brought(`hand-over ${it.id}`)) === 1)
      return cookie(brought.origin, signed(gateway.hash, HALF, it), HALF_MS)
    wrong = 'it was used before'
  }
  gateway.log.warn(`a hand-over of another cell was refused: ${wrong}`, { kind: it?.from })
  return cookie(brought.origin, '', 0)
}

/** What this browser has brought, and nobody has used up. */
const halfOf = ({ gateway, request: { headers, origin } }: Here): HandOver => {
  const name = `${cookieName(origin)}=`
  const sent = headers
    .get('cookie')
    ?.split(/; */)
    .find((one) => one.startsWith(name))
  const it = sent === undefined ? undefined : opened(gateway.hash, HALF, sent.slice(name.length))
  if (it === undefined || gateway.clock.now() - it.madeAt > HALF_MS || it.to !== gateway.cells?.own)
    throw refuse('sign_in_failed', 'This way in was used or has expired; choose the organisation again.')
  return it
}

/** Throws unless the account is one that a hand-over opens, for a member of the organisation. */
const accountFor = async ({ store }: Gateway, { email, organisation }: HandOver): Promise<Person> => {
  const person = await personBy(store.people, email)
  const members = person === undefined ? [] : await store.members.list({ personId: person.id })
  if (person === undefined || !members.some(({ orgId }) => orgId === organisation))
    throw refuse('forbidden', 'Your address is no member of that organisation here.', {
      members: { reason: 'no_member' },
    })
  return person
}

/** What was not shown at the other cell, and is wanted here. */
const wants = (reason: 'operator' | 'passkey', message: string) =>
  refuse('forbidden', message, { members: { reason } })

/**
 * A factor that the person has set up here is asked for here: at the other cell somebody with their mailbox may have set
 * up another one. An operator is never let in by an address.
 */
const askFactor = async (here: Here, person: Person, code: string | undefined) => {
  if (person.operator) throw wants('operator', 'You operate this server, so you sign in here yourself.')
  if (person.totp) {
    if (code === undefined) throw codeRequired()
    await takeAttempt(here, person.email)
    return code
  }
  const of = [{ column: 'user_id', is: '=', value: person.id }] as const
  if ((await here.gateway.store.people.count('person_passkey', of)) > 0)
    throw wants('passkey', 'Your account here has a passkey: use it.')
  return undefined
}

/** A session as every other: by a link that is made and used at once. */
const sessionFor = async (here: Here, { id: personId, email }: Person, code: string | undefined) => {
  const { gateway, request, console: opened } = here
  const { people } = gateway.store
  const secret = await mintLink(people, { email, now: gateway.clock.now(), lifeMs: LINK_MS })
  const { api } = await opened.auth(request.origin)
  const { headers, response } = await api
    .magicLinkVerify({ query: { token: secret }, headers: headersOf(request, ''), returnHeaders: true })
    .catch(wrongSignIn)
  const end = () => people.remove('person_session', [{ column: 'token', is: '=', value: response.token }])
  if (code !== undefined)
    await checkCode(here, { personId, code, cookie: sentBack(headers) }).catch(async (wrong) => {
      await end()
      throw wrong
    })
  return { cookies: cookiesOf(headers), token: response.token, end }
}

/** It is as old as the sign-in that it comes from, and ends at its time however it is used. */
const bound = ({ gateway: { store, clock } }: Here, token: string, it: HandOver) => {
  const at = (ms: number) => new Date(ms).toISOString()
  return store.people.update('person_session', [{ column: 'token', is: '=', value: token }], {
    created_at: at(it.signedAt),
    ends_at: at(clock.now() + SESSION_MS),
    org_id: it.organisation,
  })
}

const enter = async (here: Here, { code }: { code?: string | undefined }): Promise<Reply> => {
  const { gateway, request, session } = here
  const { store } = gateway
  const it = halfOf(here)
  const over = cookie(request.origin, '', 0)
  await takeAttempt(here)
  const person = await accountFor(gateway, it)
  if (session?.personId === person.id) {
    await store.members.chooseOrg(session.token, it.organisation)
    return { value: { done: true }, cookies: [over] }
  }
  const asked = await askFactor(here, person, code)
  const { token, cookies, end } = await sessionFor(here, person, asked)
  if ((await store.members.brought(`entered ${it.id}`)) !== 1) {
    await end()
    throw signInFailed()
  }
  const { how, at: now } = it.proof
  if (now > (person.provedAt ?? 0))
    await prove(gateway, { person, how, by: `cell ${it.from}`, now, keep: token, address: request.address })
  await bound(here, token, it)
  await recordSignIn(here, person, `cell ${it.from}${asked === undefined ? '' : ' and code'}`)
  return { value: { done: true }, cookies: [...cookies, over] }
}

export const enterRoutes: readonly ConsoleRoute[] = [
  bodied('POST /session/enter', {
    summary:
      'Signs in who comes from the console of another cell, with a code where the account here has TOTP.',
    audience: 'anybody',
    body: enterBody,
    handler: enter,
  }),
]
