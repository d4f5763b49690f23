/** `turnpike latency`: how fast calls were answered, and how many were refused or failed. */
import type { Command } from 'commander'
import { callLatency } from '../../control/reports/latency.ts'
import { performAs } from '../run/control.ts'
import { findKey } from '../run/find-key.ts'
import { onLedger, print, tableOf } from '../run/run-command.ts'

const filters = {
  organisation: 'of this organisation',
  tenant: 'of this tenant',
  model: 'of this model',
  vendor: 'for which this vendor was asked',
  from: 'from this day or moment on; a day ago if absent',
  to: 'before this day or moment',
} as const

type Options = { key?: string; by: string; json?: boolean } & {
  readonly [Name in keyof typeof filters]?: string
}

export const latencyCommand = (program: Command): void => {
  const command = program
    .command('latency')
    .description('how fast calls were answered, and how many were refused or failed')
    .option('--by <by>', 'model, vendor or key', 'model')
    .option('--key <key>', 'only this key and all below it: id, prefix or token; deleted keys too')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, { key, json, ...rest }: Options) => {
        const input = {
          ...rest,
          ...(key === undefined ? {} : { key: (await findKey(database, key, true)).id }),
        }
        const shown = await performAs('latency', database, callLatency, input)
        const { rows, total, newest, parts } = shown
        const lines = [...rows, { id: 'total', label: 'total', ...total }].map(({ id: _id, ...line }) => line)
        const some = parts.some(({ whole }) => !whole)
        const end = some ? `of the newest ${newest} calls of each ${parts.length}th of the time\n` : ''
        print(json, shown, `${tableOf(lines)}${end}`)
      }),
    )
  for (const [name, what] of Object.entries(filters))
    command.option(`--${name} <${name}>`, `only calls ${what}`)
}
