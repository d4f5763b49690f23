/** What the operator's alerts need to know of the ledger: read every minute, for the metrics. */
import { lastBackup } from '../../backup/last-backup.ts'
import type { Log } from '../../core/log.ts'
import type { Nano } from '../../core/money.ts'
import { type Clock, inRounds } from '../../core/time.ts'
import type { Reading } from '../../metrics/snapshot.ts'
import type { Store } from '../../store/port.ts'

type HouseParts = {
  readonly store: Pick<Store, 'community' | 'readSetting'>
  readonly clock: Clock
  readonly log: Log
  /** The most that trials may get in a day. */
  readonly trialsDaily: Nano
}

export type HouseWatch = {
  /** As of the last look; none before the first. */
  readonly readings: () => readonly Reading[]
  readonly stop: () => void
}

const EVERY_MS = 60_000
const SECOND_MS = 1_000

/** Looks until it is stopped. While the ledger does not answer, the readings stay as they were. */
export const watchHouse = ({ store, clock, log, trialsDaily }: HouseParts): HouseWatch => {
  let readings: readonly Reading[] = []
  const look = async (): Promise<void> => {
    const [granted, backedUp] = await Promise.all([store.community.trialsToday(), lastBackup(store)])
    readings = [
      ['trialsToday', granted],
      ['trialsDaily', trialsDaily],
      ['backedUp', (backedUp ?? 0) / SECOND_MS],
    ]
  }
  const failed = 'trials and backups could not be read for the metrics'
  return {
    readings: () => readings,
    stop: inRounds({ clock, log, pauseMs: () => EVERY_MS, failed }, look),
  }
}
