/** `turnpike machine …`: credentials for the operator's programs, which act over /v1/admin. */

import type { Command } from 'commander'
import { machineCreate, machineList, machineRevoke, machineRotate } from '../../control/machines.ts'
import { everyRight } from '../../control/rights.ts'
import { present } from '../../core/json-body.ts'
import { alsoOf } from '../run/alias-option.ts'
import { forPrograms, performAs } from '../run/control.ts'
import { onLedger, print, tableOf, under } from '../run/run-command.ts'
import { checkSecret } from './secret-commands.ts'

type Options = {
  label: string
  may: string
  org?: readonly string[]
  from?: readonly string[]
  rpm?: string
  expires?: string
  json?: boolean
}

type Made = { readonly id: string; readonly credential: string }

const tell = (made: Made, json: boolean | undefined): void =>
  print(
    json,
    forPrograms(made),
    `${made.credential}\n\nThis credential is shown only now. Its id is ${made.id}.\n`,
  )

export const machineCommands = (program: Command): void => {
  const machine = program.command('machine').description('credentials of programs that act as the operator')
  under(machine, 'create', 'make a credential; its value is shown once')
    .requiredOption('--label <text>', 'which program it is')
    .requiredOption('--may <rights>', `what it may do, separated by commas: ${everyRight.join(', ')}`)
    .option('--org <id>', 'only this organisation; repeat the option for each', alsoOf)
    .option('--from <address>', 'only from this address or block (CIDR); repeat the option for each', alsoOf)
    .option('--rpm <n>', 'requests per minute, 600 unless given')
    .option('--expires <when>', 'a day or a moment, such as 2027-01-31')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, { label, may, org, from, rpm, expires, json }: Options) => {
        await checkSecret(database)
        const input = {
          label,
          rights: may.split(',').map((right) => right.trim()),
          ...present({ organisations: org, addresses: from, rpm_limit: rpm, expires_at: expires }),
        }
        tell(await performAs('machine create', database, machineCreate, input), json)
      }),
    )
  under(machine, 'list', 'all credentials, without their values')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, { json }: { json?: boolean }) => {
        const { data } = await performAs('machine list', database, machineList, {})
        const rows = data.map(
          ({ id, label, prefix, rights, organisations, revoked, expires_at: expires }) => ({
            id,
            label,
            credential: `${prefix}…`,
            may: rights.join(','),
            organisations: organisations?.join(',') ?? 'all',
            expires,
            revoked,
          }),
        )
        print(json, forPrograms(data), tableOf(rows))
      }),
    )
  endingCommands(machine)
}

const endingCommands = (machine: Command): void => {
  under(machine, 'rotate <machine>', 'give it another credential; the one before is invalid at once')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, id: string, { json }: { json?: boolean }) => {
        await checkSecret(database)
        tell(await performAs('machine rotate', database, machineRotate, { machine: id }), json)
      }),
    )
  under(machine, 'revoke <machine>', 'end it for good; its next request is refused')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, id: string, { json }: { json?: boolean }) => {
        await performAs('machine revoke', database, machineRevoke, { machine: id })
        print(json, { id, revoked: true }, `${id} is revoked\n`)
      }),
    )
}
