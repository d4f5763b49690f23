/** Changes of keys: a change is acknowledged once no process can admit a call on the old state. */
import type { Clock, Instant } from '../core/time.ts'
import type { KeyStore } from '../store/accounts/tenancy-port.ts'
import type { InstanceStore } from '../store/calls/instance-port.ts'
import { StoreFault } from '../store/faults.ts'
import type { Book } from './contract.ts'
import { type Heartbeat, type Nudge, untilKnown } from './heartbeat.ts'
import type { Learn } from './news.ts'
import type { Touch } from './touch.ts'

const AGAIN_MS = 20

type ChangesParts = {
  readonly store: {
    readonly instances: InstanceStore
    readonly keys: Pick<KeyStore, 'changeKey' | 'deleteKey'>
  }
  readonly clock: Clock
  readonly nudge: Nudge | undefined
  readonly heartbeat: Pick<Heartbeat, 'ageMs' | 'beatNow'>
  /** How often the ledger may have lost something. */
  readonly losses: () => number
  /** Whether the ledger is in this process, and loses nothing. */
  readonly local?: boolean | undefined
  readonly touch: Touch
  readonly learn: Learn
}

export const createKeyChanges = (
  parts: ChangesParts,
): Pick<Book, 'changeKey' | 'deleteKey' | 'untilKnown'> => {
  const { store, clock, nudge, heartbeat, touch, learn, losses, local } = parts
  /** A heartbeat that began now or later and was answered. */
  const nextBeat = async (): Promise<void> => {
    const askedMs = clock.monotonicMs()
    for (await heartbeat.beatNow(); heartbeat.ageMs() > clock.monotonicMs() - askedMs; ) {
      await clock.sleep(AGAIN_MS)
      await heartbeat.beatNow()
    }
  }
  /**
   * What was asked of a ledger that took over meanwhile proves nothing about a change that the former one made: that may be
   * lost, and not known to all.
   */
  const known = async (at: Instant, lossesBefore: number): Promise<void> => {
    await untilKnown({ store: store.instances, clock, nudge }, at, heartbeat.beatNow)
    if (local !== true) await nextBeat()
    if (losses() !== lossesBefore) throw new StoreFault('another server took over meanwhile')
  }
  const knownSince = (at: Instant, lossesBefore = losses()): Promise<void> =>
    touch.insist(known(at, lossesBefore))
  return {
    changeKey: async (id, change, by) => {
      const before = losses()
      const changed = await touch.insist(store.keys.changeKey(id, change, by))
      if (changed === undefined) return undefined
      await learn({ keys: [changed.key, ...changed.below] })
      await knownSince(changed.at, before)
      return changed
    },
    deleteKey: async (id, withChildren, by) => {
      const before = losses()
      const deleted = await touch.insist(store.keys.deleteKey(id, withChildren, by))
      if (deleted === undefined) return undefined
      await learn({ keys: [deleted.key, ...deleted.below] })
      await knownSince(deleted.at, before)
      return deleted
    },
    untilKnown: (at) => knownSince(at),
  }
}
