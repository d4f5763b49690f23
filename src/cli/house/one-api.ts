/**
 * One-API's users and tokens as a house, and those of New API, which has the same tables with some more columns: each user
 * is an organisation whose wallet has the user's quota, and each token a key with the same value.
 * Source: the structures `User`, `Token` and `Option` in the folder `model` of both programs.
 */
import { z } from 'zod'
import { bearerToken } from '../../admission/caller.ts'
import { readBlock } from '../../core/address.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { greatest, NANO_PER_USD, type Nano } from '../../core/money.ts'
import { prefixOf } from '../../gateway/parts/new-token.ts'
import { counted } from '../run/run-command.ts'
import {
  type Budget,
  type Imported,
  type ImportedOrganisation,
  idOf,
  labelFrom,
  membersOf,
  sha256,
} from './imported.ts'
import { maybe, type RowsOf, readRows } from './read-rows.ts'
import { type ModelsSold, modelsIn } from './sold-models.ts'

const text = maybe(z.string())
const whole = maybe(z.coerce.bigint())
/** MySQL and SQLite have no booleans: they give 0 and 1. */
const flag = maybe(z.coerce.boolean())

const tables = {
  tokens: z.object({
    user_id: z.coerce.string(),
    key: z.string(),
    status: z.coerce.number(),
    name: text,
    expired_time: maybe(z.coerce.number()),
    remain_quota: whole,
    used_quota: whole,
    unlimited_quota: flag,
    models: text,
    model_limits_enabled: flag,
    model_limits: text,
    subnet: text,
    allow_ips: text,
    deleted_at: z.unknown().optional(),
  }),
  users: z.object({
    id: z.coerce.string(),
    username: z.string(),
    display_name: text,
    group: text,
    status: z.coerce.number(),
    quota: whole,
    deleted_at: z.unknown().optional(),
  }),
  options: z.object({ key: z.string(), value: text }),
  channels: z.object({}),
  redemptions: z.object({}),
} as const
type Rows = RowsOf<typeof tables>
type Token = Rows['tokens'][number]

/** The states of a token and of a user. */
const ENABLED = 1
const EXPIRED = 3
/** Units of quota for a dollar, where the option says nothing else. */
const QUOTA_PER_UNIT = 500_000

const parts = (list: string | undefined): readonly string[] =>
  (list ?? '').split(/[\s,]+/).filter((one) => one !== '')

/** The limits of a token by its lists; a list of which nothing fits disables it, and never widens it. */
const listsOf = (token: Token, sold: ModelsSold, tell: (what: string) => void): JsonObject => {
  const limited = token.model_limits_enabled === true ? token.model_limits : token.models
  const { allowed, unknown } = modelsIn(parts(limited), sold, undefined)
  if (unknown.length > 0) tell(`not sold here: ${unknown.join(', ')}`)
  const addresses = parts(token.subnet ?? token.allow_ips)
  const known = addresses.filter((one) => readBlock(one) !== undefined)
  if (known.length < addresses.length)
    tell(`no addresses here: ${addresses.filter((one) => !known.includes(one)).join(', ')}`)
  const none = allowed?.length === 0 || (addresses.length > 0 && known.length === 0)
  if (none) tell('nothing of that is left, so it is disabled')
  return {
    ...(allowed === undefined || allowed.length === 0 ? {} : { allowed_models: allowed }),
    ...(known.length === 0 ? {} : { allowed_addresses: known }),
    ...(none ? { disabled: true } : {}),
  }
}

type Reading = {
  readonly sold: ModelsSold
  /** An amount of quota, which they let fall below nothing. */
  readonly nano: (quota: bigint) => Nano
  readonly now: number
}

/** A token of that user as a key of ours, or why it is left out. */
const keyFrom = (token: Token, { sold, nano, now }: Reading, tell: (what: string) => void) => {
  const expires = (token.expired_time ?? -1) * 1_000
  const value = token.key.startsWith('sk-') ? token.key : `sk-${token.key}`
  if (token.status === EXPIRED || (expires > 0 && expires <= now)) return 'it expired'
  if (bearerToken(`Bearer ${value}`) !== value) return 'its value has no form that is taken here'
  const { used_quota: used = 0n, remain_quota: left = 0n } = token
  const spent = nano(used)
  const budget: Budget = { member: 'spend_cap_usd', most: nano(used + left), spent }
  return {
    label: labelFrom(token.name?.trim() || prefixOf(value)),
    can_manage: false,
    value_sha256: sha256(value),
    value_prefix: prefixOf(value),
    ...(expires > 0 ? { expires_at: new Date(expires).toISOString() } : {}),
    ...membersOf(token.unlimited_quota === true ? undefined : budget, spent),
    ...(token.status === ENABLED ? {} : { disabled: true }),
    ...listsOf(token, sold, tell),
  }
}

/** Quota as amounts, by the option that says how much of it a dollar is. */
const nanoBy = (options: Rows['options']): Reading['nano'] => {
  const option = Number(options.find(({ key }) => key === 'QuotaPerUnit')?.value)
  const perUnit = BigInt(option >= 1 ? Math.round(option) : QUOTA_PER_UNIT)
  return (quota) => (greatest(quota, 0n) * NANO_PER_USD) / perUnit
}

/** The house that their rows make; `now` in milliseconds. */
const houseFrom = (rows: Rows, sold: ModelsSold, now: number): Imported => {
  const told: string[] = []
  const nano = nanoBy(rows.options)
  const users = new Map(rows.users.filter((row) => row.deleted_at == null).map((row) => [row.id, row]))
  const organisations = new Map<string, ImportedOrganisation>(
    [...users.values()].map((user) => [
      user.id,
      { name: user.display_name?.trim() || user.username, keys: {}, balance: nano(user.quota ?? 0n) },
    ]),
  )
  let keys = 0
  for (const token of rows.tokens.filter(({ deleted_at }) => deleted_at == null)) {
    const user = users.get(token.user_id)
    const who = `key ${token.name} of ${user?.username ?? token.user_id}`
    const tell = (what: string): void => void told.push(`${who}: ${what}`)
    const key = user === undefined ? 'its user was deleted' : keyFrom(token, { sold, nano, now }, tell)
    if (typeof key === 'string') {
      tell(`left out, ${key}`)
      continue
    }
    keys++
    const own = organisations.get(token.user_id)?.keys ?? {}
    own[idOf('key', 'oneapi', key.value_sha256.slice(0, 40))] =
      user?.status === ENABLED ? key : { ...key, disabled: true }
  }
  const made = [...organisations].filter(
    ([, { keys: own, balance = 0n }]) => balance > 0n || Object.keys(own).length > 0,
  )
  const rest = [
    [rows.users.length - made.length, 'user', 'users', ' without keys and money'],
    [rows.users.length, 'person', 'people', '; invite them with turnpike person'],
    [new Set(rows.users.map(({ group }) => group)).size, 'group', 'groups', ' of users with their ratios'],
    [rows.channels.length, 'channel', 'channels', '; set the keys of your vendors'],
    [rows.redemptions.length, 'code', 'codes', ' for quota'],
  ] as const
  for (const [count, one, others, more] of rest)
    if (count > 0) told.push(`no place here: ${counted(count, one, others)}${more}`)
  const byId = made.map(([id, organisation]) => [idOf('org', 'oneapi', id), organisation])
  return { organisations: Object.fromEntries(byId), told, keys }
}

/** Reads a MySQL, PostgreSQL or SQLite database of theirs, or a JSON file with its tables. */
export const fromOneApi = async (from: string, sold: ModelsSold, now: number): Promise<Imported> =>
  houseFrom(await readRows(from, tables, { needed: 'tokens', of: 'One-API' }), sold, now)
