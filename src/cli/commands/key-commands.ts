/** `turnpike key …`: makes, lists, limits, rotates, disables, enables and deletes keys. */
import type { Command } from 'commander'
import { keyChange, keyDelete, keyRotate } from '../../control/change-key.ts'
import { keyCreate, keyList } from '../../control/keys.ts'
import type { KeyShown } from '../../control/shown-key.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { usdNumber } from '../../core/money.ts'
import { harmless } from '../../core/storable.ts'
import { capList } from '../../tenancy/limits.ts'
import { OPERATOR_WALLET } from '../config/first-start.ts'
import { aliasesFrom, alsoOf, guardrailsFrom, keyTagsFrom } from '../run/alias-option.ts'
import {
  controlOf,
  everyPage,
  forPrograms,
  limitOptions,
  limitsFromOptions,
  namesModels,
  performAs,
} from '../run/control.ts'
import { findKey } from '../run/find-key.ts'
import { type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'
import { checkSecret } from './secret-commands.ts'
import { walletOf } from './wallet-commands.ts'

type Options = {
  label?: string
  wallet?: string
  parent?: string
  subWallet?: string
  canManage?: string
  alias?: readonly string[]
  tag?: readonly string[]
  guardrails?: string
  withChildren?: boolean
  json?: boolean
}

export const keyCommands = (program: Command): void => {
  const key = program.command('key').description('API keys')
  makingCommands(key)
  under(key, 'list', 'all keys, newest first')
    .option('--deleted', 'include deleted keys')
    .option('--json', 'for programs')
    .action(onLedger(listKeys))
  keyOptions(key.command('limits <key>').description('change limits; "none" removes one'))
    .option('--label <text>', 'who uses it')
    .option('--sub-wallet <id>', 'bind the key, and all keys below it, to a sub-wallet of its wallet')
    .action(
      onLedger((database, name: string, options: Options) =>
        change(
          database,
          name,
          'limits',
          { ...bodyOf(options), ...labelOf(options), ...bindingOf(options) },
          options,
        ),
      ),
    )
  endingCommands(key)
}

const makingCommands = (key: Command): void => {
  keyOptions(key.command('create').description('make a key for a wallet; its first one manages it'))
    .requiredOption('--label <text>', 'who uses it')
    .option('--wallet <wallet>', 'the wallet that pays: id or name', OPERATOR_WALLET)
    .option('--sub-wallet <id>', 'bind the key to a sub-wallet of that wallet')
    .action(onLedger((database, options: Options) => create(database, 'create', options)))
  keyOptions(key.command('child').description('make a key under a reseller’s key, billed to its wallet'))
    .requiredOption('--label <text>', 'who uses it')
    .requiredOption('--parent <key>', 'the reseller’s key: id, prefix or token')
    .option('--sub-wallet <id>', 'bind the key to a sub-wallet of the reseller’s wallet')
    .action(onLedger((database, options: Options) => create(database, 'child', options)))
  key
    .command('rotate <key>')
    .description('make a key with the same limits in its place; the old one stays valid until it is deleted')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, name: string, options: Options) => {
        await checkSecret(database)
        const { id } = await findKey(database, name)
        tellMade(await performAs('key rotate', database, keyRotate, { key: id }), options)
      }),
    )
}

const endingCommands = (key: Command): void => {
  for (const [verb, disabled, along] of [
    ['disable', true, 'also all keys below it'],
    ['enable', false, 'also the keys below that were disabled together with it'],
  ] as const)
    key
      .command(`${verb} <key>`)
      .description(`${verb} a key; in force on every process when the command returns`)
      .option('--with-children', along)
      .option('--json', 'for programs')
      .action(
        onLedger((database, name: string, options: Options) =>
          change(database, name, verb, { disabled, with_children: options.withChildren ?? false }, options),
        ),
      )
  under(key, 'delete <key>', 'delete a key for good; what it used stays in the reports')
    .option('--with-children', 'also all keys below it')
    .option('--json', 'for programs')
    .action(onLedger(remove))
}

const keyOptions = (command: Command): Command =>
  limitOptions(command)
    .option('--can-manage <on|off>', 'whether it may make keys below itself and govern its wallet over HTTP')
    .option(
      '--alias <name=model>',
      'an alias of the key for a model; repeat the option for each, or give "none"',
      alsoOf,
    )
    .option(
      '--tag <name=value>',
      'what its calls are for where they do not say; name!=value is fixed; repeat the option for each, or give "none"',
      alsoOf,
    )
    .option('--guardrails <json>', 'what is looked for in the texts of its calls: a list of rules, or "none"')
    .option('--json', 'for programs')

const labelOf = ({ label }: Options): JsonObject => (label === undefined ? {} : { label })

const bodyOf = (options: Options): JsonObject => ({
  ...limitsFromOptions(options),
  ...rightOf(options),
  ...(options.alias === undefined ? {} : { aliases: aliasesFrom(options.alias) }),
  ...(options.tag === undefined ? {} : { tags: keyTagsFrom(options.tag) }),
  ...(options.guardrails === undefined ? {} : { guardrails: guardrailsFrom(options.guardrails) }),
})

const needsCatalogue = (options: Options): boolean => options.alias !== undefined || namesModels(options)

/** The sub-wallet that the key is bound to from now on, if the option says so. */
const bindingOf = ({ subWallet }: Options): JsonObject =>
  subWallet === undefined ? {} : { sub_wallet: subWallet === 'none' ? null : subWallet }

const rightOf = ({ canManage }: Options): JsonObject => {
  if (canManage === undefined) return {}
  if (canManage !== 'on' && canManage !== 'off')
    throw new Failed(`--can-manage must be on or off, not '${canManage}'`)
  return { can_manage: canManage === 'on' }
}

type Made = { readonly id: string; readonly key: string }

const tellMade = (made: Made, { json }: Options): void =>
  print(json, forPrograms(made), `${made.key}\n\nThis key is shown only now. Its id is ${made.id}.\n`)

const create = async (database: Database, verb: string, options: Options): Promise<void> => {
  await checkSecret(database)
  const { parent, wallet = OPERATOR_WALLET, subWallet } = options
  const payer =
    parent === undefined
      ? { wallet: (await walletOf(database, wallet)).id }
      : { parent: (await findKey(database, parent)).id }
  const input = {
    ...labelOf(options),
    ...payer,
    ...(subWallet === undefined ? {} : { sub_wallet: subWallet }),
    ...bodyOf(options),
  }
  const control = await controlOf(database, needsCatalogue(options))
  tellMade(await performAs(`key ${verb}`, control, keyCreate, input), options)
}

const change = async (
  database: Database,
  name: string,
  verb: string,
  input: JsonObject,
  options: Options,
): Promise<void> => {
  const { withChildren = false, json } = options
  const { id } = await findKey(database, name)
  const control = await controlOf(database, needsCatalogue(options))
  const changed = await performAs(`key ${verb}`, control, keyChange, { key: id, ...input })
  const also = withChildren ? `, and so are ${changed.below.length} below it` : ''
  const state = changed.disabled ? `disabled: ${changed.disabled_reason}` : 'enabled'
  print(json, forPrograms(changed), `${id} (${harmless(changed.label)}) is ${state}${also}\n`)
}

const remove = async (database: Database, name: string, options: Options): Promise<void> => {
  const { withChildren = false, json } = options
  const { id, label } = await findKey(database, name)
  const input = { key: id, with_children: withChildren }
  const deleted = await performAs('key delete', database, keyDelete, input)
  const also = withChildren ? `, and ${deleted.below.length} below it` : ''
  print(json, forPrograms(deleted), `${id} (${harmless(label)}) is deleted${also}\n`)
}

const PAGE = 500

const allKeys = async (database: Database, deleted: boolean): Promise<readonly KeyShown[]> => {
  return everyPage((last: KeyShown | undefined) =>
    performAs('key list', database, keyList, { deleted, limit: PAGE, ...(last && { after: last.id }) }),
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
