/**
 * What all ways of signing in share: the headers passed on to the library, its cookies, and the record of the sign-in.
 */
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

export const recordSignIn = (
  here: Here,
  person: { readonly id: string; readonly email: string },
  how: string,
): Promise<void> =>
  here.gateway.store.events.record({
    actor: { kind: 'person', id: person.id, name: person.email, address: here.request.address },
    orgId: 'people',
    what: 'person.signed_in',
    subject: person.id,
    after: { how },
  })
