/** What the operator reads first when a server starts. */
import { decimalFromNano } from '../core/money.ts'
import type { GatewayOptions } from '../gateway/gateway.ts'
import type { Config } from './config.ts'
import type { Sold } from './sold.ts'

/** The address, the key if it is new, a call to try, and what is on. */
export const greeting = (config: Config, sold: Sold, address: string, token: string | undefined): string => {
  const shown = token ?? 'sk-…'
  const lines = [
    `Turnpike listens on ${address}  (ledger: ${config.databaseUrl.startsWith('sqlite:') ? config.databaseUrl : 'PostgreSQL'})`,
    '',
    token === undefined
      ? 'The first key was shown when it was made, and only then; `bin/turnpike key create --label NAME` makes another.'
      : `Your key, shown only now:  ${token}`,
    '',
    'Try it:',
    `  curl ${address}/v1/chat/completions -H 'Authorization: Bearer ${shown}' -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"local/echo-1","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
    `Vendors on: ${[...sold.vendors.keys()].join(', ')}  (${sold.catalogue.list().length} models; local/ is a deterministic built-in, not an AI)`,
    ...(config.x402 === undefined
      ? []
      : [
          `x402 payments: ${config.x402.offers.map(({ name, network }) => `${name} on ${network}`).join(', ')}`,
        ]),
    trials(config.gateway),
    `To turn on more, set: ${config.off.map(({ variable }) => variable).join(', ') || 'all are on'}`,
    '',
  ]
  return `${lines.join('\n')}\n`
}

/** Said at every start, since trials spend the operator's money. */
const trials = ({ trial: { amount, dailyAmount } }: GatewayOptions): string =>
  amount === 0n
    ? 'Anonymous trials: off (TRIAL_USD)'
    : `Anonymous trials: ${decimalFromNano(amount)} USD a network address, at your cost, all of a day within ${decimalFromNano(dailyAmount)} USD; TRIAL_USD=0 turns them off`
