/** The key of the playground: the page alone has it, for the person who is signed in. */

import { makeKey } from '../control/make-key.ts'
import { decimalFromNano } from '../core/money.ts'
import { limitRows } from '../tenancy/limits.ts'
import { actingOf } from './acting.ts'
import { actorOf, type ConsoleRoute, type Here, type Reply, type Within, within } from './here.ts'
import { route } from './row.ts'
import { playKey } from './schema/keys.ts'

const PLAY_CAP = 500_000_000n
const PLAY_MS = 60 * 60_000

const labelOf = ({ session }: Within): string => `Playground of ${session.email}`

const playKeys = async (here: Within) =>
  (
    await here.gateway.store.reports.keys({
      orgs: [here.session.orgId],
      which: 'own',
      madeBy: here.session.personId,
      search: labelOf(here),
      most: 20,
    })
  ).filter(({ key }) => key.label === labelOf(here))

/** A key for the page alone: capped, and deleted after an hour or when the next one is made. */
const makePlayKey = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { book, clock, log } = here.gateway
  const actor = actorOf(here)
  for (const { key } of await playKeys(here)) await book.deleteKey(key.id, true, actor)
  const { key: made, token } = await makeKey(actingOf(here), {
    label: labelOf(here),
    // It ends also if this process is not there to delete it.
    limits: { spendCap: PLAY_CAP, expiresAt: clock.now() + PLAY_MS, canManage: false },
  })
  const end = async () => {
    await clock.sleep(PLAY_MS)
    await book.deleteKey(made.id, true, actor)
  }
  end().catch((error: unknown) =>
    log.warn('a key of the playground was not deleted', { error: String(error) }),
  )
  return {
    value: { id: made.id, key: token, [limitRows.spendCap.member]: decimalFromNano(PLAY_CAP) },
    status: 201,
  }
}

export const playRoutes: readonly ConsoleRoute[] = [
  route('POST /playground/key', {
    summary: 'A key for the playground: capped at 0.5 USD, and deleted after an hour.',
    audience: ['play'],
    answer: playKey,
    statuses: [201],
    handler: makePlayKey,
  }),
]
