/** `turnpike key list`: all keys, newest first, with state, spend and last use. */
import { keyList } from '../../control/keys.ts'
import type { KeyShown } from '../../control/shown-key.ts'
import { usdNumber } from '../../core/money.ts'
import { capList } from '../../tenancy/limits.ts'
import { controlOf, everyPage, forPrograms, performAs } from '../run/control.ts'
import { type Database, print, tableOf } from '../run/run-command.ts'

const PAGE = 500

/** All keys with what they have spent. */
const allKeys = async (database: Database, deleted: boolean): Promise<readonly KeyShown[]> => {
  const control = await controlOf(database)
  return everyPage((last: KeyShown | undefined) =>
    performAs('key list', control, keyList, { deleted, limit: PAGE, ...(last && { after: last.id }) }),
  )
}

const usd = (amount: bigint | null) => (amount === null ? null : usdNumber(amount))

export const listKeys = async (
  database: Database,
  { deleted = false, json }: { deleted?: boolean; json?: boolean },
): Promise<void> => {
  const keys = await allKeys(database, deleted)
  print(
    json,
    forPrograms(keys),
    tableOf(
      keys.map((key) => ({
        id: key.id,
        label: key.label,
        key: `${key.prefix}…`,
        wallet: key.wallet,
        state: key.status === 'disabled' ? key.disabled_reason : key.status,
        manages: key.can_manage ? 'yes' : null,
        spent_usd: usdNumber(key.spent_usd),
        spent_month: usdNumber(key.spent_this_month_usd),
        ...Object.fromEntries(capList.map(({ member, column }) => [column, usd(key[member])])),
        rpm: key.rpm_limit,
        last_used: key.last_used_at?.slice(0, 16).replace('T', ' ') ?? null,
      })),
    ),
  )
}
