/** `turnpike key …`: makes, lists, limits, disables, enables and deletes keys. */
import type { Command } from 'commander'
import { untilKnown } from '../book/heartbeat.ts'
import { openNudge } from '../book/nudge.ts'
import { AMOUNT_FORM, type Nano, nanoFromDecimal } from '../core/money.ts'
import { type Instant, systemClock } from '../core/time.ts'
import { newId, newToken, prefixOf } from '../gateway/new-token.ts'
import type { KeyChange } from '../store/accounts/tenancy-port.ts'
import type { Limits } from '../tenancy/key.ts'
import { keyLabel } from '../tenancy/limits-body.ts'
import { type RateName, rateNames } from '../tenancy/rates.ts'
import { aliasesOf, alsoOf } from './alias-option.ts'
import { findKey } from './find-key.ts'
import { OPERATOR_WALLET } from './first-start.ts'
import { listKeys, shown } from './list-keys.ts'
import { byCommand, type Database, Failed, harmless, print, withDatabase } from './run-command.ts'
import { checkSecret } from './secret-commands.ts'
import { walletOf } from './wallet-commands.ts'

type RateOptions = { [Rate in RateName]?: string }
type LimitOptions = RateOptions & {
  spendCap?: string
  monthlyCap?: string
  stopAt?: string
  canManage?: string
  alias?: readonly string[]
  json?: boolean
}

export const keyCommands = (program: Command): void => {
  const key = program.command('key').description('API keys')
  makingCommands(key)
  key
    .command('list')
    .description('all keys, newest first')
    .option('--deleted', 'include deleted keys')
    .option('--json', 'for programs')
    .action((options: { deleted?: boolean; json?: boolean }) =>
      withDatabase((database) => listKeys(database, options)),
    )
  limitOptions(key.command('limits <key>').description('change limits; "none" removes one')).action(
    (name: string, options: LimitOptions) =>
      withDatabase(async (database) => {
        const aliases = await aliasesOf(database.config, options.alias)
        const requested = { ...changeOf(options), ...rightOf(options), ...aliases, byCreator: true }
        return change(database, name, requested, { verb: 'limits', json: options.json })
      }),
  )
  endingCommands(key)
}

const makingCommands = (key: Command): void => {
  limitOptions(key.command('create').description('make a key for a wallet; its first one manages it'))
    .requiredOption('--label <text>', 'who uses it')
    .option('--wallet <wallet>', 'the wallet that pays: id or name', OPERATOR_WALLET)
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
        const parent = await findKey(database, options.parent)
        return create(database, { ...options, wallet: parent.walletId, parentId: parent.id })
      }),
    )
}

type EndOptions = { withChildren?: boolean; json?: boolean }

const endingCommands = (key: Command): void => {
  for (const [verb, disabledReason, along] of [
    ['disable', 'operator', 'also all keys below it'],
    ['enable', null, 'also the keys below that were disabled together with it'],
  ] as const)
    key
      .command(`${verb} <key>`)
      .description(`${verb} a key; in force on every process when the command returns`)
      .option('--with-children', along)
      .option('--json', 'for programs')
      .action((name: string, { withChildren = false, json }: EndOptions) =>
        withDatabase((database) =>
          change(database, name, { disabledReason, withChildren, byCreator: true }, { verb, json }),
        ),
      )
  key
    .command('delete <key>')
    .description('delete a key for good; what it used stays in the reports')
    .option('--with-children', 'also all keys below it')
    .option('--json', 'for programs')
    .action((name: string, options: EndOptions) =>
      withDatabase((database) => remove(database, name, options)),
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
    .option('--can-manage <on|off>', 'whether it may make keys below itself and govern its wallet over HTTP')
    .option(
      '--alias <name=model>',
      'an alias of the key for a model; repeat the option for each, or give "none"',
      alsoOf,
    )
    .option('--json', 'for programs')

type NewKeyOptions = LimitOptions & { label: string; wallet: string; parentId?: string; subWallet?: string }

const create = async (database: Database, options: NewKeyOptions): Promise<void> => {
  const { store, hash, config } = database
  await checkSecret(database)
  const label = keyLabel.safeParse(options.label)
  if (!label.success) throw new Failed(`--label ${label.error.issues[0]?.message}`)
  const wallet = await walletOf(database, options.wallet)
  if (options.subWallet !== undefined && !(await hasSub(store, wallet.id, options.subWallet)))
    throw new Failed(`the wallet '${wallet.id}' has no sub-wallet '${options.subWallet}'`)
  const token = newToken()
  const limits: Limits = Object.fromEntries(
    Object.entries(changeOf(options)).filter(([, limit]) => limit !== null),
  )
  const { aliases } = await aliasesOf(config, options.alias)
  const made = await store.keys.createKey(
    {
      id: newId('key'),
      hash: hash(token),
      hashedBy: hash.id,
      orgId: wallet.orgId,
      walletId: wallet.id,
      ...(options.parentId === undefined ? {} : { parentId: options.parentId }),
      ...(options.subWallet === undefined ? {} : { subWallet: options.subWallet }),
      label: options.label,
      prefix: prefixOf(token),
      limits,
      ...rightOf(options),
      ...(aliases == null ? {} : { aliases }),
    },
    byCommand('key create'),
  )
  print(
    options.json,
    { ...shown(made), key: token },
    `${token}\n\nThis key is shown only now. Its id is ${made.id}.\n`,
  )
}

/** Lists what the operator's own key would see: all keys of the wallet. */
const hasSub = async (store: Database['store'], walletId: string, id: string): Promise<boolean> =>
  (await store.subWallets.subWallet({ id: '', walletId, ancestors: [] }, id)) !== undefined

const change = async (
  database: Database,
  name: string,
  requested: KeyChange,
  { verb, json }: { readonly verb: string; readonly json: boolean | undefined },
): Promise<void> => {
  const key = await findKey(database, name)
  const changed = await database.store.keys.changeKey(key.id, requested, byCommand(`key ${verb}`))
  if (changed === undefined) throw new Failed(`the key ${key.id} was deleted meanwhile`)
  await holdsEverywhere(database, changed.at)
  const { disabledReason } = changed.key
  const also = requested.withChildren === true ? `, and so are ${changed.below.length} below it` : ''
  print(
    json,
    { ...shown(changed.key), below: changed.below.map(({ id }) => id) },
    `${key.id} (${harmless(key.label)}) is ${disabledReason === undefined ? 'enabled' : `disabled: ${disabledReason}`}${also}\n`,
  )
}

const remove = async (
  database: Database,
  name: string,
  { withChildren = false, json }: EndOptions,
): Promise<void> => {
  const key = await findKey(database, name)
  const deleted = await database.store.keys.deleteKey(key.id, withChildren, byCommand('key delete'))
  if (deleted === undefined) throw new Failed(`the key ${key.id} was deleted meanwhile`)
  await holdsEverywhere(database, deleted.at)
  const also = withChildren ? `, and ${deleted.below.length} below it` : ''
  print(
    json,
    { id: key.id, deleted: true, below: deleted.below.map(({ id }) => id) },
    `${key.id} (${harmless(key.label)}) is deleted${also}\n`,
  )
}

/**
 * Returns once no serving process can admit a call on the old state; at the latest when silent processes have fenced
 * themselves.
 */
const holdsEverywhere = async ({ store }: Database, at: Instant): Promise<void> => {
  const nudge = await openNudge()
  // This process admits no calls, so it has nothing of its own to refresh.
  await untilKnown({ store: store.instances, clock: systemClock, nudge }, at, async () => undefined)
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

/** Whether the key may manage others, if the option says so. */
const rightOf = ({ canManage }: LimitOptions): { canManage?: boolean } => {
  if (canManage === undefined) return {}
  if (canManage !== 'on' && canManage !== 'off')
    throw new Failed(`--can-manage must be on or off, not '${canManage}'`)
  return { canManage: canManage === 'on' }
}

const amount = (option: string, text: string): Nano | null => {
  if (text === 'none') return null
  const read = nanoFromDecimal(text)
  if (read === undefined) throw new Failed(`${option} must be ${AMOUNT_FORM}, or none, not '${text}'`)
  return read
}

const rate = (option: string, text: string): number | null => {
  if (text === 'none') return null
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Failed(`${option} must be a whole number of at least 1, or none, not '${text}'`)
  return Number.parseInt(text, 10)
}
