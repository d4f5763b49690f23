/** `turnpike batch …`: batches of all keys, in whichever form of API they were made. */
import type { Command } from 'commander'
import { batchCancel, batchGet, batchList } from '../../control/reports/batches.ts'
import { forPrograms, performAs } from '../run/control.ts'
import { findKey } from '../run/find-key.ts'
import { type Database, onLedger, print, tableOf, under } from '../run/run-command.ts'

type Batch = Awaited<ReturnType<typeof batchGet.does>>
type Options = Readonly<Record<'key' | 'organisation' | 'tenant' | 'after' | 'limit', string | undefined>> & {
  readonly own?: boolean
  readonly json?: boolean
}

const rowOf = (batch: Batch) => {
  const { id, key, status, stopped_by: why, lines, cost_usd: cost, created_at: at } = forPrograms(batch)
  const { total, waiting, sent, succeeded, errored, stopped } = lines
  return {
    ...{ at, id, key: key.label, status: why === null || why === status ? status : `${status} (${why})` },
    ...{ lines: total, waiting, sent, succeeded, errored, stopped, cost_usd: cost },
  }
}

const list = async (database: Database, { key, json, ...rest }: Options): Promise<void> => {
  const given = Object.entries(rest).filter(
    (entry): entry is [string, string | boolean] => entry[1] !== undefined,
  )
  const input = {
    ...Object.fromEntries(given),
    ...(key === undefined ? {} : { key: (await findKey(database, key, true)).id }),
  }
  const found = await performAs('batch list', database, batchList, input)
  const end = found.has_more ? `older ones: --after ${found.data.at(-1)?.id}\n` : ''
  print(json, forPrograms(found), `${tableOf(found.data.map(rowOf))}${end}`)
}

export const batchCommands = (program: Command): void => {
  const batch = program.command('batch').description('batches: many calls that nobody waits for')
  under(batch, 'list', 'batches, newest first, with their lines by how they stand and what they cost')
    .option('--key <key>', 'only of this key and all below it: id, prefix or token; deleted keys too')
    .option('--own', 'with --key: without the keys below it')
    .option('--organisation <organisation>', 'only of this organisation')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--after <batch>', 'only those made before this one')
    .option('--limit <n>', 'the most rows', '50')
    .option('--json', 'for programs')
    .action(onLedger(list))
  for (const [verb, act, what] of [
    ['show', batchGet, 'one batch'],
    ['cancel', batchCancel, 'cancel a batch: lines that were sent end, others never are and cost nothing'],
  ] as const)
    batch
      .command(`${verb} <batch>`)
      .description(what)
      .option('--json', 'for programs')
      .action(
        onLedger(async (database, id: string, { json }: { json?: boolean }) => {
          const one = await performAs(`batch ${verb}`, database, act, { batch: id })
          print(json, forPrograms(one), tableOf([rowOf(one)]))
        }),
      )
}
