/** Machines of the operator against a whole server: their credentials, and requests below /v1/admin. */
import { perform } from '../../src/control/act.ts'
import { machineCreate } from '../../src/control/machines.ts'
import { whoIsCommand } from '../../src/control/who.ts'
import type { JsonObject } from '../../src/core/json-body.ts'
import type { TestServer } from './harness.ts'

/** A machine with those rights; the rest of the act's input may say where it may come from, and until when. */
export const machineOn = async (server: TestServer, rights: readonly string[], more: JsonObject = {}) => {
  const input = { label: 'pipeline', rights: [...rights], ...more }
  const made = await perform(server.gateway, whoIsCommand('test'), machineCreate, () => input)
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    server.fetchFrom(
      '192.0.2.7',
      new Request(`http://turnpike.test/v1/admin${path}`, {
        method,
        headers: {
          authorization: `Bearer ${made.credential}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  return { id: made.id, ask }
}

/** What the events of the house and its organisations say, newest first. */
export const eventsOfMachine = async ({ store }: TestServer, id: string) =>
  (await store.events.list({ most: 200 })).filter(({ actor }) => actor.kind === 'machine' && actor.id === id)
