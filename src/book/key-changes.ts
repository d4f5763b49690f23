/** Changes of keys: a change is acknowledged once no process can admit a call on the old state. */
import type { Clock, Instant } from '../core/time.ts'
import type { KeyStore } from '../store/accounts/tenancy-port.ts'
import type { InstanceStore } from '../store/calls/instance-port.ts'
import type { Book } from './contract.ts'
import { type Heartbeat, type Nudge, untilKnown } from './heartbeat.ts'
import type { Learn } from './news.ts'
import type { Touch } from './touch.ts'

type ChangesParts = {
  readonly store: {
    readonly instances: InstanceStore
    readonly keys: Pick<KeyStore, 'changeKey' | 'deleteKey'>
  }
  readonly clock: Clock
  readonly nudge: Nudge | undefined
  readonly heartbeat: Pick<Heartbeat, 'beatNow'>
  readonly touch: Touch
  readonly learn: Learn
}

export const createKeyChanges = (
  parts: ChangesParts,
): Pick<Book, 'changeKey' | 'deleteKey' | 'untilKnown'> => {
  const { store, clock, nudge, heartbeat, touch, learn } = parts
  const knownSince = (at: Instant): Promise<void> =>
    touch.insist(untilKnown({ store: store.instances, clock, nudge }, at, heartbeat.beatNow))
  return {
    changeKey: async (id, change, by) => {
      const changed = await touch.insist(store.keys.changeKey(id, change, by))
      if (changed === undefined) return undefined
      await learn({ keys: [changed.key, ...changed.below] })
      await knownSince(changed.at)
      return changed
    },
    deleteKey: async (id, withChildren, by) => {
      const deleted = await touch.insist(store.keys.deleteKey(id, withChildren, by))
      if (deleted === undefined) return undefined
      await learn({ keys: [deleted.key, ...deleted.below] })
      await knownSince(deleted.at)
      return deleted
    },
    untilKnown: knownSince,
  }
}
