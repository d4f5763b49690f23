/** `turnpike own-key …`: the keys that an organisation has at vendors itself. A key is read from standard input alone. */
import type { Command } from 'commander'
import type { z } from 'zod'
import type { Act, Control, Shape } from '../../control/act.ts'
import {
  ownKeyAdd,
  ownKeyChange,
  ownKeyFallBack,
  ownKeyList,
  ownKeyRemove,
  ownKeyRotate,
  ownKeyTry,
} from '../../control/own-keys.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { controlOf, forPrograms, ownKeyRing, performAs } from '../run/control.ts'
import { type Database, print, tableOf, withDatabase } from '../run/run-command.ts'

type Options = {
  readonly org: string
  readonly json?: boolean
  readonly untested?: boolean
  readonly place?: string
  readonly off?: boolean
  readonly on?: boolean
}

const controlWithKeys = async (database: Database): Promise<Control> => {
  const control = await controlOf(database)
  const vendors = new Map(database.config.vendors.map((setup) => [setup.vendor.id, setup]))
  return { ...control, offering: { ...control.offering, vendors }, ownKeys: ownKeyRing(database) }
}

const perform =
  <Members extends Shape, Shown extends object>(
    act: Act<Members, Shown>,
    input: JsonObject,
    { org, json }: Options,
  ) =>
  async (database: Database): Promise<void> => {
    const command = act.name.replace('_', '-').replace('.', ' ')
    const control = await controlWithKeys(database)
    const shown = forPrograms(await performAs(command, control, act, { organisation: org, ...input }))
    print(json, shown, tableOf([shown as Readonly<Record<string, string>>]))
  }

const fromInput = async (): Promise<string> => (await Bun.stdin.text()).trim()

const list = ({ org, json }: Options) =>
  withDatabase(async (database) => {
    const control = await controlOf(database)
    const { data }: z.output<typeof ownKeyList.shows> = await performAs('own-key list', control, ownKeyList, {
      organisation: org,
    })
    print(json, data, tableOf(data))
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
  sub('list', 'all of them, by their last four letters').action(list)
  untested(sub('add', 'try the key on standard input at its vendor, and keep it'))
    .argument('<vendor>', 'such as openai')
    .action(async (vendor: string, options: Options) => {
      const value = await fromInput()
      await withDatabase(perform(ownKeyAdd, { vendor, value, untested: options.untested === true }, options))
    })
  untested(sub('rotate', 'put the key on standard input in the place of one'))
    .argument('<id>', 'the key')
    .action(async (id: string, options: Options) => {
      const value = await fromInput()
      const input = { own_key: id, value, untested: options.untested === true }
      await withDatabase(perform(ownKeyRotate, input, options))
    })
  sub('change', 'turn a key on or off, or ask it earlier or later')
    .argument('<id>', 'the key')
    .option('--on', 'turn it on')
    .option('--off', 'turn it off')
    .option('--place <n>', 'its place among the keys of its vendor, from 1')
    .action((id: string, options: Options) => {
      const { on, off, place } = options
      const enabled = on === true ? { enabled: true } : off === true ? { enabled: false } : {}
      const input = { own_key: id, ...enabled, ...(place === undefined ? {} : { place }) }
      return withDatabase(perform(ownKeyChange, input, options))
    })
  sub('remove', 'remove a key, on all processes')
    .argument('<id>', 'the key')
    .action((id: string, options: Options) => withDatabase(perform(ownKeyRemove, { own_key: id }, options)))
  sub('try', 'ask its vendor whether it takes a key')
    .argument('<id>', 'the key')
    .action((id: string, options: Options) => withDatabase(perform(ownKeyTry, { own_key: id }, options)))
  sub('fall-back', "whether the house's key is asked, at the list price, where the organisation's own fail")
    .argument('<vendor>', 'such as openai')
    .argument('<on|off>', 'off unless it was set')
    .action((vendor: string, word: string, options: Options) =>
      withDatabase(perform(ownKeyFallBack, { vendor, fall_back: word === 'on' }, options)),
    )
}
