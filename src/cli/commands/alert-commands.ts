/** `turnpike alert …`: what an organisation, or the house, is told of, where, and what was told. */
import type { Command } from 'commander'
import type { z } from 'zod'
import {
  channelCreate,
  channelDelete,
  channelList,
  channelTest,
  deliveryList,
} from '../../control/alerts/channels.ts'
import { alertChange, alertCreate, alertDelete, alertList } from '../../control/alerts/rules.ts'
import { HOUSE } from '../../store/alerts/alert-port.ts'
import { channelKinds, ruleKinds } from '../../tenancy/alert-kinds.ts'
import { alsoOf } from '../run/alias-option.ts'
import { forPrograms, performAs } from '../run/control.ts'
import { onLedger, print, tableOf, under } from '../run/run-command.ts'

type Common = { readonly org: string; readonly json?: boolean }

const commonOf = (command: Command): Command =>
  command
    .option('--org <id>', 'the organisation; without it, the house itself', HOUSE)
    .option('--json', 'for programs')

type Made = Common & {
  readonly name: string
  readonly kind: string
  readonly of?: string
  readonly usd?: string
  readonly steps: string
  readonly forecast?: boolean
  readonly minutes?: string
  readonly to?: readonly string[]
}

const ruleOf = (command: Command): Command =>
  commonOf(command)
    .requiredOption('--name <text>', 'what messages call it')
    .requiredOption('--kind <kind>', ruleKinds.join(', '))
    .option('--of <id>', 'the key, person, sub-wallet or vendor')
    .option('--usd <usd>', 'what 100 % is: of a month’s spending, or of the balance')
    .option('--steps <percents>', 'such as 50,80,100', '50,80,100')
    .option('--forecast', 'also when the month is forecast to reach the amount')
    .option('--minutes <n>', 'how far back shares look')
    .option('--to <channel>', 'a channel to tell; repeat the option for each', alsoOf)

const inputOf = ({ org, name, kind, of, usd, steps, forecast, minutes, to = [] }: Made) => ({
  organisation: org,
  name,
  kind,
  steps: steps.split(',').map(Number),
  channels: [...to],
  ...(of === undefined ? {} : { subject: of }),
  ...(usd === undefined ? {} : { amount_usd: usd }),
  ...(forecast === undefined ? {} : { forecast }),
  ...(minutes === undefined ? {} : { minutes: Number(minutes) }),
})

const ruleCommands = (alert: Command): void => {
  commonOf(alert.command('list').description('all alerts, with the steps that are reached now')).action(
    onLedger(async (database, { org: organisation, json }: Common) => {
      const { data } = await performAs('alert list', database, alertList, { organisation })
      const rows = forPrograms(data).map(({ open, steps, channels, ...rule }) => ({
        ...rule,
        steps: steps.join(','),
        channels: channels.length,
        reached: open.map(({ step }) => step).join(','),
      }))
      print(json, forPrograms(data), tableOf(rows))
    }),
  )
  ruleOf(alert.command('create').description('be told when something reaches a step')).action(
    onLedger(async (database, options: Made) => {
      const made = await performAs('alert create', database, alertCreate, inputOf(options))
      print(options.json, forPrograms(made), `${made.id}\n`)
    }),
  )
  ruleOf(
    alert
      .command('change <alert>')
      .description('replace an alert; open steps that are not reached are resolved'),
  ).action(
    onLedger(async (database, id: string, options: Made) => {
      const input = { ...inputOf(options), alert: id }
      const made = await performAs('alert change', database, alertChange, input)
      print(options.json, forPrograms(made), `${made.id} is changed\n`)
    }),
  )
  commonOf(alert.command('delete <alert>').description('end an alert; what is open is resolved')).action(
    onLedger(async (database, id: string, { org: organisation, json }: Common) => {
      await performAs('alert delete', database, alertDelete, { organisation, alert: id })
      print(json, { id, deleted: true }, `${id} is deleted\n`)
    }),
  )
}

type Channel = z.output<typeof channelCreate.shows>
type NewChannel = Common & { readonly name: string; readonly kind: string; readonly target: string }

const channelCommands = (alert: Command): void => {
  commonOf(alert.command('channels').description('where alerts can be told')).action(
    onLedger(async (database, { org: organisation, json }: Common) => {
      const { data } = await performAs('alert channels', database, channelList, { organisation })
      print(json, data, tableOf(data.map(({ secret: _hidden, ...channel }: Channel) => channel)))
    }),
  )
  commonOf(
    under(alert, 'channel', 'make a channel')
      .requiredOption('--name <text>', 'what people call it')
      .requiredOption('--kind <kind>', channelKinds.join(', '))
      .requiredOption('--target <address>', 'mail address, https address, or integration key of PagerDuty'),
  ).action(
    onLedger(async (database, { org: organisation, json, name, kind, target }: NewChannel) => {
      const input = { organisation, name, kind, target }
      const made = await performAs('alert channel', database, channelCreate, input)
      print(json, made, `${made.id}${made.secret === null ? '' : `\nIts secret is ${made.secret}`}\n`)
    }),
  )
  for (const [verb, act, what] of [
    ['forget', channelDelete, 'delete a channel'],
    ['test', channelTest, 'send a test to a channel; a running server sends it'],
  ] as const)
    commonOf(alert.command(`${verb} <channel>`).description(what)).action(
      onLedger(async (database, channel: string, { org: organisation, json }: Common) => {
        const input = { organisation, channel }
        const done = await performAs(`alert ${verb}`, database, act, input)
        print(json, done, `${channel}: done\n`)
      }),
    )
}

export const alertCommands = (program: Command): void => {
  const alert = program.command('alert').description('what people are told of, and where')
  ruleCommands(alert)
  channelCommands(alert)
  commonOf(alert.command('log').description('what was told to channels, newest first')).action(
    onLedger(async (database, { org: organisation, json }: Common) => {
      const { data } = await performAs('alert log', database, deliveryList, { organisation })
      print(json, data, tableOf(data.map(({ text: _long, id: _id, ...row }) => row)))
    }),
  )
}
