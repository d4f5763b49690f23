/** `turnpike own-key …`: the keys that an organisation has at vendors itself. A key is read from standard input alone. */
import type { Command } from 'commander'
import type { Act, Shape } from '../../control/act.ts'
import { ownKeyAdd, ownKeyChange, ownKeyList, ownKeyRemove, ownKeyTry } from '../../control/own-keys.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { controlOf, ownKeyRing, performAs } from '../run/control.ts'
import { print, tableOf, withDatabase } from '../run/run-command.ts'

type Options = {
  readonly org: string
  readonly json?: boolean
  readonly untested?: boolean
  readonly vendor?: string
  readonly place?: string
  readonly fallBack?: string
  readonly off?: boolean
  readonly on?: boolean
}

type Row = Parameters<typeof tableOf>[0][number]

const perform = <Members extends Shape, Shown extends Row | { readonly data: readonly Row[] }>(
  act: Act<Members, Shown>,
  input: JsonObject,
  { org, json }: Options,
) =>
  withDatabase(async (database) => {
    const control = await controlOf(database)
    const vendors = new Map(database.config.vendors.map((setup) => [setup.vendor.id, setup]))
    const offering = { ...control.offering, vendors }
    const able = { ...control, offering, ownKeys: ownKeyRing(database) }
    const command = act.name.replace('_', '-').replace('.', ' ')
    const shown = await performAs(command, able, act, { organisation: org, ...input })
    print(json, shown, tableOf(Array.isArray(shown.data) ? shown.data : [shown]))
  })

const add = async (vendor: string, options: Options, instead?: string): Promise<void> => {
  const value = (await Bun.stdin.text()).trim()
  const input = { vendor, value, untested: options.untested === true }
  await perform(ownKeyAdd, instead === undefined ? input : { ...input, instead }, options)
}

const changeOf = ({ on, off, place, fallBack }: Options): JsonObject => ({
  ...(on === true || off === true ? { enabled: on === true } : {}),
  ...(place === undefined ? {} : { place }),
  ...(fallBack === undefined ? {} : { fall_back: fallBack === 'on' }),
})

export const ownKeyCommands = (program: Command): void => {
  const own = program.command('own-key').description('keys that an organisation has at vendors itself')
  const sub = (words: string, description: string) =>
    own
      .command(words)
      .description(description)
      .requiredOption('--org <id>', 'the organisation')
      .option('--json', 'for programs')
  const untested = (command: Command) =>
    command.option('--untested', 'also if the vendor does not say whether it takes the key')
  sub('list', 'all of them, by their last four letters').action((options: Options) =>
    perform(ownKeyList, {}, options),
  )
  untested(sub('add <vendor>', 'try the key on standard input at its vendor, and keep it')).action(
    (vendor: string, options: Options) => add(vendor, options),
  )
  untested(sub('rotate <id>', 'put the key on standard input in the place of one'))
    .requiredOption('--vendor <vendor>', 'of both, such as openai')
    .action((id: string, options: Options) => add(options.vendor ?? '', options, id))
  sub('change <id>', 'turn a key on or off, or ask it earlier or later')
    .option('--on', 'turn it on')
    .option('--off', 'turn it off')
    .option('--place <n>', 'its place among the keys of its vendor, from 1')
    .option(
      '--fall-back <on|off>',
      "ask the house's key of its vendor, at the list price, where own keys fail",
    )
    .action((id: string, options: Options) =>
      perform(ownKeyChange, { own_key: id, ...changeOf(options) }, options),
    )
  sub('remove <id>', 'remove a key, on all processes').action((id: string, options: Options) =>
    perform(ownKeyRemove, { own_key: id }, options),
  )
  sub('try <id>', 'ask its vendor whether it takes a key').action((id: string, options: Options) =>
    perform(ownKeyTry, { own_key: id }, options),
  )
}
