/** Keys as the commands show them: one key for programs, and the list with what each has spent. */
import { type ExactNumber, type Nano, usdNumber } from '../core/money.ts'
import type { KeyLine } from '../store/reports/report-port.ts'
import type { Key } from '../tenancy/key.ts'
import { type Database, print, tableOf } from './run-command.ts'

const PAGE = 500

/** All keys with what they have spent, page by page. */
const linesOf = async ({ reports }: Database['store'], deleted: boolean): Promise<readonly KeyLine[]> => {
  const found: KeyLine[] = []
  for (;;) {
    const after = found.at(-1)?.key.id
    const query = { which: 'all', deleted, most: PAGE } as const
    const page = await reports.keys({ ...query, ...(after === undefined ? {} : { after }) })
    found.push(...page)
    if (page.length < PAGE) return found
  }
}

/** `turnpike key list`: all keys, newest first, with state, spend and last use. */
export const listKeys = async (
  { store }: Database,
  { deleted = false, json }: { deleted?: boolean; json?: boolean },
): Promise<void> => {
  const lines = await linesOf(store, deleted)
  print(
    json,
    lines.map(({ key, spent, spentThisMonth, requests, lastUsed }) => ({
      ...shown(key),
      spent_usd: usdNumber(spent),
      spent_this_month_usd: usdNumber(spentThisMonth),
      requests,
      last_used_at: lastUsed === undefined ? null : isoOf(lastUsed),
    })),
    tableOf(
      lines.map(({ key, spent, spentThisMonth, lastUsed }) => ({
        id: key.id,
        label: key.label,
        key: `${key.prefix}…`,
        wallet: key.walletId,
        state: key.deleted ? 'deleted' : (key.disabledReason ?? 'enabled'),
        manages: key.canManage ? 'yes' : null,
        spent_usd: usdNumber(spent),
        spent_month: usdNumber(spentThisMonth),
        spend_cap: usd(key.limits.spendCap),
        monthly_cap: usd(key.limits.monthlyCap),
        rpm: key.limits.rpm ?? null,
        last_used: lastUsed === undefined ? null : isoOf(lastUsed).slice(0, 16).replace('T', ' '),
      })),
    ),
  )
}

const isoOf = (at: number): string => new Date(at).toISOString()

const usd = (value: Nano | undefined): ExactNumber | null => (value === undefined ? null : usdNumber(value))

/** A key as the commands print it for programs. */
export const shown = (key: Key) => ({
  id: key.id,
  label: key.label,
  prefix: key.prefix,
  wallet: key.walletId,
  parent: key.ancestors[0] ?? null,
  sub_wallet: key.subWallet ?? null,
  can_manage: key.canManage,
  spend_cap_usd: usd(key.limits.spendCap),
  monthly_cap_usd: usd(key.limits.monthlyCap),
  rpm_limit: key.limits.rpm ?? null,
  rph_limit: key.limits.rph ?? null,
  rpd_limit: key.limits.rpd ?? null,
  tpm_limit: key.limits.tpm ?? null,
  stop_at_remaining_usd: usd(key.limits.stopAt),
  aliases: key.aliases ?? null,
  disabled: key.disabledReason !== undefined,
  disabled_reason: key.disabledReason ?? null,
  disabled_by: key.disabledBy ?? null,
  deleted: key.deleted,
})
