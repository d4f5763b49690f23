/** `turnpike payers`: who pays by x402 vouchers, and what of it can be claimed. */
import type { Command } from 'commander'
import { payerList } from '../../control/money/payers.ts'
import { controlOf, forPrograms, performAs } from '../run/control.ts'
import { print, tableOf, under, withDatabase } from '../run/run-command.ts'

export const payersCommand = (program: Command): void => {
  under(program, 'payers', 'who pays by x402 vouchers: deposited, charged, claimed and what is left')
    .argument('[address]', 'only this payer')
    .option('--limit <count>', 'how many', '100')
    .option('--json', 'for programs')
    .action((payer: string | undefined, { limit, json }: { limit: string; json?: boolean }) =>
      withDatabase(async (database) => {
        const input = { limit: Number(limit), ...(payer === undefined ? {} : { payer }) }
        const { data } = forPrograms(await performAs('payers', await controlOf(database), payerList, input))
        print(json, data, tableOf(data))
      }),
    )
}
