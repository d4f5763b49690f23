/** Commands as acts: options become an act's input, and what it shows is printed for people or for programs. */
import type { Command } from 'commander'
import { untilKnown } from '../../book/heartbeat.ts'
import { openNudge } from '../../book/nudge.ts'
import { type Act, type Control, perform, type Shape } from '../../control/act.ts'
import { written } from '../../control/face.ts'
import { whoIsCommand } from '../../control/who.ts'
import type { JsonObject } from '../../core/json-body.ts'
import type { ExactNumber } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Instant, systemClock } from '../../core/time.ts'
import { limitList } from '../../tenancy/limits.ts'
import { newOwnKeyRing, type OwnKeyRing } from '../../transport/own-key-ring.ts'
import { openCatalogue } from '../config/open-catalogue.ts'
import { addressAt } from '../config/own-address.ts'
import { type Database, Failed } from './run-command.ts'

/** What acts work with, from the ledger alone. The catalogue is read only for what names models. */
export const controlOf = async (database: Database, withCatalogue = false): Promise<Control> => {
  const { store, hash, config } = database
  const known = (at: Instant) => holdsEverywhere(database, at)
  const catalogue = withCatalogue ? (await openCatalogue(config)).catalogue : noCatalogue
  return {
    store,
    hash,
    clock: systemClock,
    offering: { catalogue },
    options: config.gateway,
    payments: { stripe: config.stripe },
    origin: config.console.origin ?? addressAt(config.host, config.port, config.tls.cert !== undefined),
    book: {
      changeKey: async (id, change, by) => {
        const changed = await store.keys.changeKey(id, change, by)
        if (changed !== undefined) await known(changed.at)
        return changed
      },
      deleteKey: async (id, withChildren, by) => {
        const deleted = await store.keys.deleteKey(id, withChildren, by)
        if (deleted !== undefined) await known(deleted.at)
        return deleted
      },
      untilKnown: known,
    },
  }
}

/** What seals and opens organisations' own keys of vendors, under the settings of the command. */
export const ownKeyRing = ({ store, hash, config }: Database): OwnKeyRing =>
  newOwnKeyRing({ store: store.ownKeys, hash, clock: systemClock, settings: config.gateway.ownKeys })

/** For commands that name no models. */
const noCatalogue: Control['offering']['catalogue'] = {
  find: () => undefined,
  list: () => [],
  ended: () => undefined,
}

/** Performs an act in the name of a command, on the ledger or with what else it needs; a refusal fails the command with its message, in the command's words. */
export const performAs = async <Members extends Shape, Shown>(
  command: string,
  on: Database | Control,
  act: Act<Members, Shown>,
  input: JsonObject,
): Promise<Shown> => {
  try {
    return await perform('book' in on ? on : await controlOf(on), whoIsCommand(command), act, () => input)
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown
    throw new Failed(inOptions(thrown.message))
  }
}

type Page<Row> = { readonly data: readonly Row[]; readonly has_more: boolean }

/** All rows of a list that comes in pages, each after the last row of the one before. */
export const everyPage = async <Row>(
  read: (last: Row | undefined) => Promise<Page<Row>>,
): Promise<readonly Row[]> => {
  const rows: Row[] = []
  for (let more = true; more; ) {
    const { data, has_more } = await read(rows.at(-1))
    rows.push(...data)
    more = has_more
  }
  return rows
}

/** Members of inputs as the options that gave them. */
const inOptions = (message: string): string =>
  message.replaceAll(/'([a-z][a-z_]*)'/g, (whole, member) => {
    const row = limitList.find(([, limit]) => limit.member === member)
    return row?.[1].option ?? optionsOf[member] ?? whole
  })

/** The options that stand for members which are no limits of keys. */
const optionsOf: Readonly<Record<string, string>> = {
  label: '--label',
  name: '--name',
  amount_usd: '--usd',
  limit_usd: '--usd',
  net_days: '--net-days',
  from: '--from',
  to: '--to',
  group_by: '--by',
  own: '--own',
  limit: '--limit',
  cost_from_usd: '--cost-from-usd',
  cost_to_usd: '--cost-to-usd',
  key: '--key',
  role: '--role',
}

/** What an act shows, for `--json`: amounts are JSON numbers, as the commands have always printed them. */
export const forPrograms = <Shown>(value: Shown): InNumbers<Shown> =>
  written(value, 'number') as InNumbers<Shown>

/** What an act shows, with amounts as exact JSON numbers. */
type InNumbers<T> = T extends bigint
  ? ExactNumber
  : T extends readonly (infer One)[]
    ? readonly InNumbers<One>[]
    : T extends object
      ? { readonly [Name in keyof T]: InNumbers<T[Name]> }
      : T

const given = { usd: 'usd', count: 'n', time: 'time', list: 'a,b' } as const

/** Whether one of the options names models, for which the catalogue is needed. */
export const namesModels = (options: Readonly<Record<string, unknown>>): boolean =>
  limitList.some(([, { option, of }]) => of === 'models' && options[optionName(option)] !== undefined)

const optionName = (option: string): string =>
  option.slice(2).replaceAll(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase())

/** An option for each limit of a key. */
export const limitOptions = (command: Command): Command =>
  limitList.reduce(
    (with_, [, { option, form, help }]) => with_.option(`${option} <${given[form]}>`, help),
    command,
  )

/** Members of the input from those options; `none` removes a limit. */
export const limitsFromOptions = (options: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(
    limitList.flatMap(([, { option, member, form }]): [string, JsonObject[string]][] => {
      const value = options[optionName(option)]
      if (typeof value !== 'string') return []
      if (value === 'none') return [[member, null]]
      if (form === 'list') return [[member, value.split(',').map((one) => one.trim())]]
      return [[member, form === 'count' && /^\d{1,15}$/.test(value) ? Number(value) : value]]
    }),
  )

/**
 * Returns once no serving process can admit a call on the old state; at the latest when silent processes have fenced
 * themselves.
 */
const holdsEverywhere = async ({ store }: Database, at: Instant): Promise<void> => {
  const nudge = await openNudge()
  // This process admits no calls, so it has nothing of its own to refresh.
  await untilKnown({ store: store.instances, clock: systemClock, nudge }, at, async () => undefined)
}
