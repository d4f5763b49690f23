/** `turnpike prune`: deletes old rows other than postings now, as a server does by itself every hour. */
import type { Command } from 'commander'
import { pruneAll } from '../../gateway/keep-pruning.ts'
import { counted, Failed, onLedger, print, under } from '../run/run-command.ts'

/** Lets calls of a server on the same file in between. */
const REST_MS = 5

export const pruneCommand = (program: Command): void => {
  under(program, 'prune', 'delete the details of old calls and other old records; postings stay')
    .option('--months <n>', 'whole months that details are kept (default: KEEP_DETAILS)')
    .option('--json', 'for programs')
    .action(
      onLedger(async ({ store, config }, options: { months?: string; json?: boolean }) => {
        const months = monthsOf(options.months) ?? config.gateway.keepDetails
        const done = await pruneAll(
          store.prune,
          { months, failureDays: config.gateway.keepFailuresDays },
          async (step) => {
            const made = await step()
            await Bun.sleep(REST_MS)
            return made
          },
        )
        print(
          options.json,
          { details: done.details, months: done.months, others: done.rest },
          `deleted: ${wholeOf(done.months)}details of ${counted(done.details, 'call')}, ${counted(done.rest, 'other row')}; no posting\n`,
        )
      }),
    )
}

/** Months that were dropped whole: their calls are not counted. */
const wholeOf = (months: number): string =>
  months === 0 ? '' : `details of ${counted(months, 'whole month')}, `

const monthsOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new Failed(`--months must be a number from 1 to 9999, not '${text}'`)
  return Number.parseInt(text, 10)
}
