/**
 * OpenRouter's keys as a house. Its list of keys has no values, so each key gets a new one here.
 * Source: OpenRouter's API reference, "List API keys" (`GET /api/v1/keys`).
 */
import { z } from 'zod'
import { messageOf } from '../../core/message-of.ts'
import { Failed } from '../run/run-command.ts'
import { type Budget, type Imported, idOf, labelFrom, membersOf, nanoOf } from './imported.ts'
import { maybe, readJson } from './read-rows.ts'

const usd = z.number().nullish()

const key = z.object({
  hash: z.string(),
  name: z.string(),
  label: maybe(z.string()),
  disabled: maybe(z.boolean()),
  limit: usd,
  limit_reset: maybe(z.enum(['daily', 'weekly', 'monthly'])),
  include_byok_in_limit: maybe(z.boolean()),
  usage: usd,
  usage_daily: usd,
  usage_weekly: usd,
  usage_monthly: usd,
  byok_usage: usd,
  expires_at: maybe(z.string()),
  workspace_id: maybe(z.string()),
})
type TheirKey = z.output<typeof key>
const page = z.object({ data: z.array(key) })
/** One page of the list, or several. */
const pages = z.union([page.transform((one) => [one]), z.array(page)])

const caps = {
  daily: { member: 'daily_cap_usd', spent: 'usage_daily' },
  weekly: { member: 'weekly_cap_usd', spent: 'usage_weekly' },
  monthly: { member: 'monthly_cap_usd', spent: 'usage_monthly' },
} as const

const budgetOf = (row: TheirKey): Budget | undefined => {
  if (row.limit == null) return undefined
  const { member, spent } =
    row.limit_reset === undefined
      ? ({ member: 'spend_cap_usd', spent: 'usage' } as const)
      : caps[row.limit_reset]
  return { member, most: nanoOf(row.limit), spent: nanoOf(row[spent] ?? 0) }
}

const ORGANISATION = 'org_openrouter'

/** The house that their keys make; `now` in milliseconds. */
const houseFrom = (rows: readonly TheirKey[], now: number): Imported => {
  const told: string[] = []
  const keys: Record<string, Imported['organisations'][string]['keys'][string]> = {}
  for (const row of rows) {
    const tell = (what: string): void => void told.push(`key ${row.name}: ${what}`)
    if (row.expires_at !== undefined && Date.parse(row.expires_at) <= now) {
      tell(`left out, it expired at ${row.expires_at}`)
      continue
    }
    if ((row.byok_usage ?? 0) > 0 || row.include_byok_in_limit === true)
      tell('what it spent with keys of your own at vendors has no place here')
    keys[idOf('key', 'openrouter', row.hash.slice(0, 40))] = {
      label: labelFrom(row.name.trim() || row.label || row.hash),
      can_manage: false,
      ...(row.expires_at === undefined ? {} : { expires_at: row.expires_at }),
      ...membersOf(budgetOf(row), nanoOf(row.usage ?? 0)),
      ...(row.disabled === true ? { disabled: true } : {}),
    }
  }
  const workspaces = new Set(rows.map(({ workspace_id }) => workspace_id)).size
  if (workspaces > 1) told.push(`${workspaces} workspaces have one wallet here, as they have there`)
  const count = Object.keys(keys).length
  return { organisations: { [ORGANISATION]: { name: 'OpenRouter', keys } }, told, keys: count }
}

/** Reads a JSON file with the answers of their list of keys. */
export const fromOpenRouter = async (from: string, now: number): Promise<Imported> => {
  const read = pages.safeParse(await readJson(from))
  if (!read.success)
    throw new Failed(
      `${from} is not what GET https://openrouter.ai/api/v1/keys answers: ${messageOf(read.error.issues[0]?.message)}`,
    )
  return houseFrom(
    read.data.flatMap(({ data }) => data),
    now,
  )
}
