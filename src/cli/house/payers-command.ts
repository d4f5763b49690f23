/** `turnpike payers`: who pays by x402 vouchers, and what of it can be claimed. */
import type { Command } from 'commander'
import { payerList } from '../../control/money/payers.ts'
import { forPrograms, performAs } from '../run/control.ts'
import { onLedger, print, tableOf, under } from '../run/run-command.ts'

export const payersCommand = (program: Command): void => {
  under(program, 'payers', 'who pays by x402 vouchers: deposited, charged, claimed and what is left')
    .argument('[address]', 'only this payer')
    .option('--limit <count>', 'how many', '100')
    .option('--json', 'for programs')
    .action(
      onLedger(
        async (database, payer: string | undefined, { limit, json }: { limit: string; json?: boolean }) => {
          const input = { limit: Number(limit), ...(payer === undefined ? {} : { payer }) }
          const { data } = forPrograms(await performAs('payers', database, payerList, input))
          print(json, data, tableOf(data))
        },
      ),
    )
}
