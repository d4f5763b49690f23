/** `turnpike key …`: keys made, listed, limited, switched off and on, deleted. */
import type { Command } from 'commander'
import { untilKnown } from '../book/heartbeat.ts'
import { openNudge } from '../book/nudge.ts'
import { type Nano, nanoFromDecimal, usdNumber } from '../core/money.ts'
import { type Instant, systemClock } from '../core/time.ts'
import type { KeyChange } from '../store/tenancy-port.ts'
import type { Key, Limits } from '../tenancy/key.ts'
import { type RateName, rateNames } from '../tenancy/rates.ts'
import { OPERATOR_WALLET } from './first-start.ts'
import { newId, newToken, prefixOf } from './parts.ts'
import { type Database, Failed, say, tableOf, withDatabase } from './run-command.ts'

type RateOptions = { [Rate in RateName]?: string }
type LimitOptions = RateOptions & { spendCap?: string; monthlyCap?: string; stopAt?: string; json?: boolean }

export const keyCommands = (program: Command): void => {
  const key = program.command('key').description('API keys')
  limitOptions(key.command('create').description('make a key for a wallet'))
    .requiredOption('--label <text>', 'who uses it')
    .option('--wallet <id>', 'the wallet that pays', OPERATOR_WALLET)
    .option('--sub-wallet <id>', 'bind the key to a sub-wallet of that wallet')
    .action((options: LimitOptions & { label: string; wallet: string; subWallet?: string }) =>
      withDatabase((database) => create(database, options)),
    )
  limitOptions(key.command('child').description('make a key under a reseller’s key, billed to its wallet'))
    .requiredOption('--label <text>', 'who uses it')
    .requiredOption('--parent <key>', 'the reseller’s key: id, prefix or token')
    .option('--sub-wallet <id>', 'bind the key to a sub-wallet of the reseller’s wallet')
    .action((options: LimitOptions & { label: string; parent: string; subWallet?: string }) =>
      withDatabase(async (database) => {
        const parent = await find(database, options.parent)
        return create(database, { ...options, wallet: parent.walletId, parentId: parent.id })
      }),
    )
  key
    .command('list')
    .description('all keys, newest first')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) => withDatabase((database) => list(database, options.json)))
  limitOptions(key.command('limits <key>').description('change limits; "none" removes one')).action(
    (name: string, options: LimitOptions) =>
      withDatabase((database) =>
        change(database, name, { ...changeOf(options), byCreator: true }, options.json),
      ),
  )
  for (const [verb, disabledReason] of [
    ['disable', 'operator'],
    ['enable', null],
  ] as const)
    key
      .command(`${verb} <key>`)
      .description(`${verb} a key; holds on every process when it returns`)
      .option('--json', 'for programs')
      .action((name: string, options: { json?: boolean }) =>
        withDatabase((database) => change(database, name, { disabledReason, byCreator: true }, options.json)),
      )
  key
    .command('delete <key>')
    .description('delete a key for good')
    .option('--json', 'for programs')
    .action((name: string, options: { json?: boolean }) =>
      withDatabase((database) => remove(database, name, options.json)),
    )
}

const limitOptions = (command: Command): Command =>
  command
    .option('--spend-cap <usd>', 'lifetime cap')
    .option('--monthly-cap <usd>', 'cap for a calendar month (UTC)')
    .option('--rpm <n>', 'requests per minute')
    .option('--rph <n>', 'requests per hour')
    .option('--rpd <n>', 'requests per day (UTC)')
    .option('--tpm <n>', 'tokens per minute, of input and output')
    .option('--stop-at <usd>', 'amount to leave in the wallet')
    .option('--json', 'for programs')

type NewKeyOptions = LimitOptions & { label: string; wallet: string; parentId?: string; subWallet?: string }

const create = async ({ store, hash }: Database, options: NewKeyOptions): Promise<void> => {
  if ((await store.wallet(options.wallet)) === undefined)
    throw new Failed(`there is no wallet '${options.wallet}'; 'turnpike wallet list' shows them`)
  if (options.subWallet !== undefined && !(await hasSub(store, options.wallet, options.subWallet)))
    throw new Failed(`the wallet '${options.wallet}' has no sub-wallet '${options.subWallet}'`)
  const token = newToken()
  const limits: Limits = Object.fromEntries(
    Object.entries(changeOf(options)).filter(([, limit]) => limit !== null),
  )
  const wallet = await store.wallet(options.wallet)
  const made = await store.createKey({
    id: newId('key'),
    hash: hash(token),
    orgId: wallet?.orgId ?? '',
    walletId: options.wallet,
    ...(options.parentId === undefined ? {} : { parentId: options.parentId }),
    ...(options.subWallet === undefined ? {} : { subWallet: options.subWallet }),
    label: options.label,
    prefix: prefixOf(token),
    limits,
  })
  say(
    options.json,
    { ...shown(made), key: token },
    `${token}\n\nThis key is shown only now. Its id is ${made.id}.\n`,
  )
}

/** Seen as a key without a maker sees it: all of the wallet's. */
const hasSub = async (store: Database['store'], walletId: string, id: string): Promise<boolean> =>
  (await store.subWallet({ id: '', walletId, ancestors: [] }, id)) !== undefined

const list = async ({ store }: Database, json: boolean | undefined): Promise<void> => {
  const keys = await store.keys()
  say(
    json,
    keys.map(shown),
    tableOf(
      keys.map(({ id, label, prefix, limits, disabledReason, walletId }) => ({
        id,
        label,
        key: `${prefix}…`,
        wallet: walletId,
        state: disabledReason ?? 'enabled',
        spend_cap: usd(limits.spendCap),
        monthly_cap: usd(limits.monthlyCap),
        rpm: limits.rpm ?? null,
      })),
    ),
  )
}

const change = async (
  database: Database,
  name: string,
  asked: KeyChange,
  json: boolean | undefined,
): Promise<void> => {
  const key = await find(database, name)
  const changed = await database.store.changeKey(key.id, asked)
  if (changed === undefined) throw new Failed(`the key ${key.id} was deleted meanwhile`)
  await holdsEverywhere(database, changed.at)
  say(
    json,
    shown(changed.key),
    `${changed.key.id} (${changed.key.label}) is ${changed.key.disabledReason === undefined ? 'enabled' : `disabled: ${changed.key.disabledReason}`}\n`,
  )
}

const remove = async (database: Database, name: string, json: boolean | undefined): Promise<void> => {
  const key = await find(database, name)
  const deleted = await database.store.deleteKey(key.id)
  if (deleted === undefined) throw new Failed(`the key ${key.id} was deleted meanwhile`)
  await holdsEverywhere(database, deleted.at)
  say(json, { id: key.id, deleted: true }, `${key.id} (${key.label}) is deleted\n`)
}

/** Returns when no serving process can admit a call on the older state; at the latest when silent ones have fenced themselves. */
const holdsEverywhere = async ({ store }: Database, at: Instant): Promise<void> => {
  const nudge = await openNudge()
  // This process admits no calls, so it has nothing of its own to refresh.
  await untilKnown({ store, clock: systemClock, nudge }, at, async () => undefined)
}

/** By id, by token, or by a prefix that fits just one. */
const find = async ({ store, hash }: Database, name: string): Promise<Key> => {
  const exact = name.startsWith('sk-') ? await store.keyByHash(hash(name)) : await store.key(name)
  if (exact !== undefined && !exact.deleted) return exact
  const close = (await store.keys()).filter(
    (key) =>
      !key.deleted && (key.id.startsWith(name) || name.startsWith(key.prefix) || key.prefix.startsWith(name)),
  )
  const [only] = close
  if (only === undefined)
    throw new Failed(`there is no key '${name.slice(0, 10)}…'; 'turnpike key list' shows them`)
  if (close.length > 1)
    throw new Failed(`'${name.slice(0, 10)}…' fits ${close.length} keys; use an id from 'turnpike key list'`)
  return only
}

type Changes = { [Name in keyof Limits]?: Limits[Name] | null }

const changeOf = (options: LimitOptions): Changes => ({
  ...(options.spendCap === undefined ? {} : { spendCap: amount('--spend-cap', options.spendCap) }),
  ...(options.monthlyCap === undefined ? {} : { monthlyCap: amount('--monthly-cap', options.monthlyCap) }),
  ...(options.stopAt === undefined ? {} : { stopAt: amount('--stop-at', options.stopAt) }),
  ...Object.fromEntries(
    rateNames.flatMap((name) => {
      const text = options[name]
      return text === undefined ? [] : [[name, rate(`--${name}`, text)]]
    }),
  ),
})

const amount = (option: string, text: string): Nano | null => {
  if (text === 'none') return null
  const read = nanoFromDecimal(text)
  if (read === undefined)
    throw new Failed(`${option} must be a decimal amount of USD such as 25 or 0.5, or none, not '${text}'`)
  return read
}

const rate = (option: string, text: string): number | null => {
  if (text === 'none') return null
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Failed(`${option} must be a whole number of at least 1, or none, not '${text}'`)
  return Number.parseInt(text, 10)
}

const usd = (value: Nano | undefined): number | null => (value === undefined ? null : usdNumber(value))

const shown = (key: Key) => ({
  id: key.id,
  label: key.label,
  prefix: key.prefix,
  wallet: key.walletId,
  parent: key.ancestors[0] ?? null,
  sub_wallet: key.subWallet ?? null,
  spend_cap_usd: usd(key.limits.spendCap),
  monthly_cap_usd: usd(key.limits.monthlyCap),
  rpm_limit: key.limits.rpm ?? null,
  rph_limit: key.limits.rph ?? null,
  rpd_limit: key.limits.rpd ?? null,
  tpm_limit: key.limits.tpm ?? null,
  stop_at_remaining_usd: usd(key.limits.stopAt),
  disabled: key.disabledReason !== undefined,
  disabled_reason: key.disabledReason ?? null,
})
