/** `turnpike apply -f house.yaml`: makes the house as a file says, or shows where it differs. */
import type { Command } from 'commander'
import { Refusal } from '../../core/refusal.ts'
import { harmless } from '../../core/storable.ts'
import { checkSecret } from '../commands/secret-commands.ts'
import { controlOf } from '../run/control.ts'
import { Failed, print, withDatabase } from '../run/run-command.ts'
import { applyOrganisation, type Change } from './apply.ts'
import { checkHouse } from './check-house.ts'
import { readHouse } from './house-file.ts'

type Options = { file: string; dryRun?: boolean; json?: boolean }

/** The house differs from the file. */
const DRIFT = 2

const shownValue = (value: unknown): string =>
  value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)

const lineOf = ({ what, id, how, fields, key }: Change): string => {
  const told = fields.map(({ field, before, after }) =>
    how === 'create'
      ? `${field}: ${shownValue(after)}`
      : `${field}: ${shownValue(before)} → ${shownValue(after)}`,
  )
  const value = key === undefined ? '' : `\n  its value, shown only now: ${key}`
  return `${how} ${what} ${id}${told.length === 0 ? '' : `  ${told.join(', ')}`}${value}\n`
}

const apply = ({ file, dryRun = false, json }: Options): Promise<void> =>
  withDatabase(async (database) => {
    const house = await readHouse(file)
    if (!dryRun) await checkSecret(database)
    const control = await controlOf(database, true)
    const changes: Change[] = []
    const wasSignalled = untilSignal()
    const tell = (change: Change): void => {
      changes.push(change)
      if (json !== true) print(false, change, harmlessLines(lineOf(change)))
      if (wasSignalled())
        throw new Failed('ended by a signal; what was made before stays: run it again, it goes on after that')
    }
    const applying = { control, dryRun, tell }
    const told = { dry_run: dryRun, changes }
    try {
      await checkHouse(applying, house)
      for (const [id, wanted] of Object.entries(house)) await applyOrganisation(applying, id, wanted)
    } catch (thrown) {
      // What was done before it stays; its keys are shown nowhere else.
      print(json, told, '')
      throw thrown instanceof Refusal ? new Failed(`${file}: ${thrown.message}`) : thrown
    }
    print(json, told, changes.length === 0 ? 'nothing to change\n' : '')
    if (dryRun && changes.length > 0) process.exitCode = DRIFT
  })

/**
 * Whether a signal to end has come. The change under way is told first, because its key is shown nowhere else; a second
 * signal ends the process at once.
 */
const untilSignal = (): (() => boolean) => {
  let signals = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void signals++)
  return () => signals > 0
}

const harmlessLines = (text: string): string => text.split('\n').map(harmless).join('\n')

export const applyCommand = (program: Command): void => {
  program
    .command('apply')
    .description(
      'make organisations, rules, credit, keys and margins as a file says; a second run changes nothing',
    )
    .requiredOption('-f, --file <path>', 'the file, such as house.yaml')
    .option('--dry-run', 'only show what differs; ends with 2 if anything does')
    .option('--json', 'for programs')
    .action(apply)
}
