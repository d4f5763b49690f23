/** When the ledger was last backed up: noted in the ledger itself, so that its servers can tell how old that is. */
import type { Instant } from '../core/time.ts'
import type { Store } from '../store/port.ts'

const NAME = 'last_backup'

/** Notes that a complete backup was made then, by whatever tool. */
export const noteBackup = (store: Pick<Store, 'writeSetting'>, madeAt: Instant): Promise<void> =>
  store.writeSetting(NAME, String(madeAt))

/** When the last noted backup was made; undefined if none is noted. */
export const lastBackup = async (store: Pick<Store, 'readSetting'>): Promise<Instant | undefined> => {
  const noted = await store.readSetting(NAME)
  return noted === undefined ? undefined : Number(noted)
}
