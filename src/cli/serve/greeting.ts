/** What the operator reads first when a server starts. */
import { decimalFromNano } from '../../core/money.ts'
import type { GatewayOptions } from '../../gateway/parts/gateway.ts'
import { mediaAbsent } from '../../transport/local-media/serve.ts'
import type { Config } from '../config/config.ts'
import type { OpenCatalogue } from '../config/open-catalogue.ts'

type Greeted = {
  readonly address: string
  /** The first key, if this start made it. */
  readonly token: string | undefined
  /** The link that signs the operator in, if there is nobody yet. */
  readonly link: string | undefined
  /** The file that has both, where standard output is no terminal. */
  readonly file: string | undefined
}

/** The one file cannot hold them. */
const HOW_TO_ADD = Bun.isStandaloneExecutable ? '' : '  (npm run add -- media)'

/** Writes to standard output; resolves to false when nobody reads it. */
export const shown = (text: string): Promise<boolean> =>
  new Promise((resolve) => {
    process.stdout.once('error', () => resolve(false))
    process.stdout.write(text, (error) => resolve(error == null))
  })

/** The first line: where the server is to be found. */
export const headline = (config: Config, address: string): string =>
  `Turnpike listens on ${address}  (ledger: ${config.databaseUrl.startsWith('sqlite:') ? config.databaseUrl : 'PostgreSQL'})\n`

/** What follows it: the key if it is new, a call to try, and what is on. */
export const greeting = (
  config: Config,
  opened: OpenCatalogue,
  { address, token, link, file }: Greeted,
): string => {
  const shown = (file === undefined ? token : undefined) ?? 'sk-…'
  const lines = [
    '',
    ...(file === undefined ? onceLines({ token, link }) : [`${SHOWN_IN}  ${file}`, '']),
    ...(config.console.on && (file !== undefined || link === undefined)
      ? [`Console: ${config.console.origin ?? address}/console`, '']
      : []),
    'Try it:',
    `  curl ${address}/v1/chat/completions -H 'Authorization: Bearer ${shown}' -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"local/echo-1","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
    `Vendors on: ${[...opened.vendors.keys()].join(', ')}  (${opened.catalogue.list().length} models; local/ is a deterministic built-in, not an AI)`,
    ...(config.x402 === undefined
      ? []
      : [
          `x402 payments: ${config.x402.offers.map(({ name, network }) => `${name} on ${network}`).join(', ')}`,
        ]),
    ...(mediaAbsent.length === 0
      ? []
      : [`Not sold, as their packages are not installed: ${mediaAbsent.join(', ')}${HOW_TO_ADD}`]),
    trials(config.gateway),
    `To turn on more, set: ${config.off.map(({ variable }) => variable).join(', ') || 'all are on'}`,
    '',
  ]
  return `${lines.join('\n')}\n`
}

const SHOWN_IN =
  'What is shown only once is in a file that only you may read, because this may be a log; delete it:'

/** The first key and the link to the console, for whoever may read them. */
export const onceLines = ({ token, link }: Pick<Greeted, 'token' | 'link'>): readonly string[] => [
  token === undefined
    ? 'The first key was only shown when it was made; `bin/turnpike key create --label NAME` makes another.'
    : `Your key, shown only now:  ${token}`,
  '',
  ...(link === undefined
    ? []
    : ['Open the console; this link signs you in, once, within a quarter of an hour:', `  ${link}`, '']),
]

/** Shown at every start, because trials spend the operator's money. */
const trials = ({ trial: { amount, dailyAmount } }: GatewayOptions): string =>
  amount === 0n
    ? 'Anonymous trials: off (TRIAL_USD)'
    : `Anonymous trials: ${decimalFromNano(amount)} USD for each network address, at your cost, ${decimalFromNano(dailyAmount)} USD a day at most; TRIAL_USD=0 turns them off`
