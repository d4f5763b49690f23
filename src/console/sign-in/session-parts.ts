/**
 * What all ways of signing in share: the headers passed on to the library, its cookies, and the record of the sign-in.
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { ConsoleRequest, Here } from '../here.ts'

export const cookiesOf = (headers: Headers): readonly string[] => headers.getSetCookie()

/** Cookies that were just set, as the browser would send them back. */
export const sentBack = (headers: Headers): string =>
  cookiesOf(headers)
    .map((one) => one.split(';')[0])
    .join('; ')

/** The headers passed on to the library: the cookie, and what a session remembers of its origin. */
export const headersOf = (
  { headers, address, origin }: ConsoleRequest,
  cookie = headers.get('cookie') ?? '',
): Headers =>
  new Headers({
    cookie,
    origin,
    'user-agent': headers.get('user-agent') ?? '',
    'x-forwarded-for': address,
  })

type Somebody = { readonly id: string; readonly email: string }

/** Records what somebody did to their own sign-in. */
export const recordOwn = (here: Here, { id, email }: Somebody, what: string, after?: JsonObject) =>
  here.gateway.store.events.record({
    actor: { kind: 'person', id, name: email, address: here.request.address },
    orgId: 'people',
    what,
    subject: id,
    ...(after === undefined ? {} : { after }),
  })

export const recordSignIn = (here: Here, person: Somebody, how: string) =>
  recordOwn(here, person, 'person.signed_in', { how })

/** What the sign-in library offers at the address that the browser uses. */
export const apiOf = async (here: Here) => (await here.console.auth(here.request.origin)).api
