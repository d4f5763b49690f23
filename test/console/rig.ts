/** A console without a port: a test server with people in it, and requests as a browser would send them. */

import { addressOfLink, mintLink } from '../../src/control/people/links.ts'
import { createPerson, type NewPerson, type Person, personBy } from '../../src/control/people/new-person.ts'
import type { Proof } from '../../src/control/people/proof.ts'
import { hashOfLink } from '../../src/control/tenants/tenants.ts'
import type { ConsoleSettings } from '../../src/gateway/parts/gateway.ts'
import { consoleSettings } from '../../src/settings/console.ts'
import { readSettings } from '../../src/settings/setting.ts'
import type { PeopleRows, Role } from '../../src/store/people/people-port.ts'
import { startTestServer, type TestServer } from '../server/harness.ts'
import type { TestEngine } from '../store/engines.ts'

export const ORIGIN = 'http://turnpike.test'
export const PASSWORD = 'correct horse battery'

const byTest = { kind: 'command', id: 'test', name: 'test' } as const

export type Visitor = {
  readonly cookie: string
  readonly email: string
  readonly personId: string
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
}

type ConsoleSetup = Parameters<typeof startTestServer>[0] & { settings?: Partial<ConsoleSettings> }

export type TestConsole = Awaited<ReturnType<typeof startConsole>>

/** The person with that address, made if there is none. */
export const ensurePerson = async (people: PeopleRows, wanted: NewPerson): Promise<Person> => {
  const person = (await personBy(people, wanted.email)) ?? (await createPerson(people, wanted))
  if (person === undefined) throw new Error('a person was made twice')
  return person
}

/** An address that no other test uses. */
export const somebody = (): string => `p${crypto.randomUUID()}@example.com`

/** Starts a console on a database of its own, which stops with it. */
export const startConsoleOn = async (
  engine: TestEngine,
  setup: Omit<ConsoleSetup, 'url'> = {},
): Promise<TestConsole & { readonly url: string }> => {
  const { url, stop } = await engine.fresh()
  const console = await startConsole({ ...setup, url })
  return { ...console, url, stop: () => console.stop().finally(stop) }
}

/** Starts a server with a console. */
export const startConsole = (setup: ConsoleSetup = {}) => startConsoleWith(startTestServer, setup)

/** The same with a server of another kind. */
export const startConsoleWith = async <Server extends TestServer>(
  start: (setup: Parameters<typeof startTestServer>[0]) => Promise<Server>,
  setup: ConsoleSetup = {},
) => {
  const { settings, ...others } = setup
  const origin = settings?.origin ?? ORIGIN
  const server = await start({
    ...others,
    console: { ...readSettings(consoleSettings, {}), ...settings },
  })
  const now = () => server.gateway.clock.now()
  const { store } = server
  const ask =
    (cookie: string) =>
    (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      server.fetch(
        new Request(`${origin}/console/api${path}`, {
          method,
          headers: {
            host: new URL(origin).host,
            ...(method === 'GET' ? {} : { origin }),
            ...(cookie === '' ? {} : { cookie }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      )
  const cookieOf = (response: Response): string =>
    response.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ')
  const link = (email: string, proves?: Proof) =>
    mintLink(store.people, { email, now: now(), lifeMs: 60_000, proves })
  /** Makes a person with a role and signs them in by a link that proves the address, with a password set. */
  const visit = async (
    email: string,
    role?: Role,
    orgId = 'org_test',
    operator = false,
  ): Promise<Visitor> => {
    const person = await ensurePerson(store.people, { email, name: email, now: now() })
    if (role !== undefined) await store.members.put({ orgId, personId: person.id, role }, byTest)
    if (operator) await store.members.setOperator(person.id, true, byTest)
    const response = await ask('')('POST', '/session/link', {
      token: await link(email, { how: 'operator', by: 'test' }),
      password: PASSWORD,
    })
    if (response.status !== 200) throw new Error(await response.text())
    const cookie = cookieOf(response)
    return { cookie, email, personId: person.id, ask: ask(cookie) }
  }
  return { ...server, visit, link, cookieOf, stranger: ask(''), withCookie: ask, addressOfLink, hashOfLink }
}
