/** `turnpike simulate`: a day of organisations in so many cells, before anybody buys machines for them. */
import { type Command, InvalidArgumentError } from 'commander'
import { type Day, type DayOf, LONGEST_SECONDS, planDay } from '../../cells/plan-day.ts'
import { print, tableOf } from '../run/run-command.ts'

const CELLS_MOST = 1_024
const ORGANISATIONS_MOST = 5_000_000

const upTo =
  (most: number) =>
  (text: string): number => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
    if (count < 1 || count > most)
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`)
    return count
  }
const ANY = 999_999_999

export const simulateCommand = (program: Command): void => {
  program
    .command('simulate')
    .description('play a day of organisations in cells: how full the busiest is, and what moves can mend')
    .option('--cells <count>', 'how many cells', upTo(CELLS_MOST), 16)
    .option('--organisations <count>', 'how many organisations', upTo(ORGANISATIONS_MOST), 1_000_000)
    .option('--calls <count>', 'calls a second of all, on the mean of the day', upTo(ANY), 750_000)
    .option('--capacity <count>', 'calls a second that a cell carries', upTo(ANY), 64_000)
    .option(
      '--rows <count>',
      'rows a second that a move copies; npm run bench -- --cells measures it',
      upTo(ANY),
      5_199,
    )
    .option('--days <count>', 'for how many days details of calls are kept', upTo(3_650), 30)
    .option('--seed <number>', 'another day', upTo(ANY), 1)
    .option('--json', 'for programs')
    .action(({ json, ...it }: DayOf & { readonly json?: boolean }) => {
      const day = planDay(it)
      print(json, { ...it, ...day }, textOf(it, day))
    })
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

const textOf = (it: DayOf, { placements, largest, largestMoved, tooLarge, givenInADay }: Day): string => {
  const rows = placements.map(({ placed, ofMean, ofCapacity, toMove, moves }) => ({
    placed,
    'busiest cell, of the mean': percent(ofMean),
    'of its capacity': percent(ofCapacity),
    'calls a second to move away': Math.round(toMove),
    'moves of the largest that can move': moves,
  }))
  return `${tableOf(rows)}
A move copies ${it.rows} rows a second.
The largest organisation: ${Math.round(largest)} calls a second, ${percent(largest / it.capacity)} of a cell.
The largest that moves within ${LONGEST_SECONDS / 3_600} h with ${it.days} days of details: ${largestMoved.toFixed(1)} calls a second; ${tooLarge} of ${it.organisations} are larger.
A cell gives away ${Math.round(givenInADay)} calls a second in a day of moves, ${percent(givenInADay / it.capacity)} of what it carries.
`
}
