/** `turnpike cell …`: organisations that move from this ledger to that of another cell, and what all cells have together. */
import { Argument, type Command } from 'commander'
import { decimalFromNano, type Nano } from '../../core/money.ts'
import { CELL_NAME, CELL_NAME_IS } from '../../settings/cells.ts'
import { moveOrganisation, type OrganisationMoved, stayHere } from '../../store/move/move-organisation.ts'
import { NotMoved } from '../../store/move/not-moved.ts'
import { readConfig } from '../config/config.ts'
import { placeOf } from '../config/database-place.ts'
import { Failed, print } from '../run/run-command.ts'
import { sumsCommand } from './cell-sums.ts'
import { ledgerAt, ledgerHere } from './ledger-address.ts'

type Options = { readonly from?: string; readonly to: string; readonly json?: boolean }
type MoveOptions = Options & { readonly database: string; readonly wait: string }

/** The names of this cell and the other. Throws Failed for what names no cell. */
const namesOf = ({ from = readConfig(process.env, {}).gateway.cell.own, to }: Options) => {
  if (from === undefined) throw new Failed('--from must name this cell, or CELL')
  for (const name of [from, to])
    if (!CELL_NAME.test(name)) throw new Failed(`'${name}' is no name of a cell: it must be ${CELL_NAME_IS}`)
  return { from, to }
}

/** Says in one line why nothing, or not all, was done. */
const failed = (cause: unknown): never => {
  throw cause instanceof NotMoved ? new Failed(`it was not moved: ${cause.message}`) : cause
}

const move = async (orgId: string, { database, wait, json, ...names }: MoveOptions): Promise<void> => {
  const { from, to } = namesOf(names)
  if (!/^\d{1,5}$/.test(wait)) throw new Failed('--wait must be a number of seconds')
  const [here, there] = [await ledgerHere(), await ledgerAt(database)]
  const moved = await moveOrganisation({
    orgId,
    from: { url: here, cell: from },
    to: { url: there, cell: to },
    by: { kind: 'command', id: 'cell move', name: 'cell move', operator: true },
    waitMs: Number(wait) * 1000,
    tell: (text) => process.stderr.write(`${text}\n`),
  }).catch(failed)
  const sum = Object.values(moved.balances).reduce((all, one) => all + BigInt(one), 0n)
  const { awayMs, rows, id } = moved
  print(
    json,
    { id, to, rows, balance_usd: decimalFromNano(sum), away_ms: awayMs },
    movedText(orgId, to, placeOf(there), { ...moved, sum }),
  )
}

const movedText = (
  orgId: string,
  to: string,
  place: string,
  { rows, awayMs, sum }: OrganisationMoved & { readonly sum: Nano },
): string => {
  const all = Object.values(rows).reduce((total, count) => total + count, 0)
  return `${orgId} is in the cell ${to} (${place}): ${all} rows, each compared, and ${decimalFromNano(sum)} USD.
  Its calls waited for ${(awayMs / 1000).toFixed(1)} s. Its postings stay in the books of both cells: turnpike audit checks each.
`
}

const stay = async (orgId: string, { json, ...names }: Options): Promise<void> => {
  const { from, to } = namesOf(names)
  await stayHere({ url: await ledgerHere(), cell: from }, orgId, to).catch(failed)
  print(json, { stays: true }, `${orgId} stays here, and its keys work again.\n`)
}

export const cellCommands = (program: Command): void => {
  const cell = program.command('cell').description('move organisations between cells, and sum up the cells')
  const sub = (words: string, description: string) =>
    cell
      .command(words)
      .description(description)
      .addArgument(new Argument('<org>', 'the id of the organisation'))
      .option('--from <cell>', 'the name of the cell whose ledger DATABASE_URL is (default: CELL)')
      .requiredOption('--to <cell>', 'the name of the other cell')
      .option('--json', 'for programs')
  sub('move', 'move an organisation to another cell, or finish a move that was interrupted')
    .requiredOption('--database <address>', "the other cell's ledger: its address, or a file with it")
    .option('--wait <seconds>', 'how long its open calls and jobs may take to end', '60')
    .action(move)
  sumsCommand(cell)
  sub('stay', 'take back a move that was interrupted before the balance left').action(stay)
}
