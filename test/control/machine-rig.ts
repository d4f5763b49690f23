/** Machines of tests: made as the command makes them, and asking at /v1/admin. */
import { performAs } from '../../src/cli/run/control.ts'
import { machineCreate } from '../../src/control/machines.ts'
import { everyRight } from '../../src/control/rights.ts'
import type { JsonObject } from '../../src/core/json-body.ts'
import type { TestServer } from '../server/harness.ts'

const ORIGIN = 'http://turnpike.test'

export type TestMachine = {
  readonly id: string
  readonly credential: string
  ask(method: string, path: string, body?: unknown, more?: Sent): Promise<Response>
}

type Sent = { readonly headers?: Record<string, string>; readonly peer?: string; readonly at?: TestServer }

/** Asks below /v1/admin with any credential. */
export const adminOf =
  (server: TestServer, credential: string) =>
  (method: string, path: string, body?: unknown, { headers = {}, peer, at = server }: Sent = {}) =>
    at.fetchFrom(
      peer,
      new Request(`${ORIGIN}/v1/admin${path}`, {
        method,
        headers: {
          ...(credential === '' ? {} : { authorization: `Bearer ${credential}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

/** What `turnpike machine create` does; it has every right unless told otherwise. */
export const machineOf = async (server: TestServer, wanted: JsonObject = {}): Promise<TestMachine> => {
  const input = { label: 'pipeline', rights: [...everyRight], rpm_limit: 100_000, ...wanted }
  const { id, credential } = await performAs('machine create', server.gateway, machineCreate, input)
  return { id, credential, ask: adminOf(server, credential) }
}
