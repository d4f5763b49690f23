/** The console at a start: on the first one its operator, with a one-time link, and the bundle of its pages. */
import { prepareBundle } from '../../console/bundle.ts'
import { addressOfLink, LINK_MS, mintLink } from '../../control/people/links.ts'
import { createPerson } from '../../control/people/new-person.ts'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { systemClock } from '../../core/time.ts'
import type { Store } from '../../store/port.ts'
import type { Config } from '../config/config.ts'

/** Not a mailbox: the first operator has no address yet. */
const OPERATOR_EMAIL = 'operator@turnpike.local'
const command = { kind: 'command', id: 'serve', name: 'turnpike serve' } as const

/** Creates the operator if there is nobody yet; returns the address of a link that signs them in, or undefined. */
export const firstLink = async (
  store: Pick<Store, 'people' | 'members'>,
  config: Config,
  address: string,
): Promise<string | undefined> => {
  if (!config.console.on || (await store.people.count('person', [])) > 0) return undefined
  const now = systemClock.now()
  const person = await createPerson(store.people, { email: OPERATOR_EMAIL, name: 'Operator', now })
  // Another process did it first at the same moment, and shows the link.
  if (person === undefined) return undefined
  await store.members.setOperator(person.id, true, command)
  await store.members.put({ orgId: 'operator', personId: person.id, role: 'owner' }, command)
  const proves = { how: 'operator', by: command.name } as const
  const secret = await mintLink(store.people, { email: person.email, now, lifeMs: LINK_MS, proves })
  return addressOfLink(config.console.origin ?? address, secret)
}

/** Bundles the pages during the start, which does not wait for it. */
export const preparePages = (config: Config, log: Log): void => {
  if (!config.console.on) return
  prepareBundle().catch((error: unknown) =>
    log.error('the console has no pages', { error: messageOf(error) }),
  )
}
