/**
 * `npm run bench -- --vouchers`: what a call with a voucher adds to the same call with a key, in turns of both; and how many
 * transactions many payers need on a chain of our own, which must agree with the ledger. One process, a scripted vendor; the pairs are
 * on a chain of paper, their vouchers signed beforehand. Options: --payers N, --calls N (each), --postgres, --pairs or --many
 * (nothing else).
 */
import { hasChain, startChain } from '../test/payments/chain.ts'
import { installChannels } from '../test/payments/channels.ts'
import { startFacilitator } from '../test/payments/facilitator.ts'
import { settleManyOnChain } from '../test/payments/many-on-chain.ts'
import { callOf, onPaper, openManyPayers, PATH, quoteOf } from '../test/payments/many-payers.ts'
import { startPaperChain } from '../test/payments/paper-chain.ts'
import { postgresForTests } from '../test/postgres.ts'
import { chat } from '../test/server/harness.ts'
import { median } from './measure.ts'

const optionOf = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name)
  return at < 0 ? fallback : Number(process.argv[at + 1])
}
const payers = optionOf('--payers', 1_000)
const calls = optionOf('--calls', 100)
const TURNS = 15
const PER_TURN = 100
/** Nano-USD of unclaimed vouchers at which a round claims: a twentieth of the configuration's default, so that it comes to some. */
const CLAIM = 500_000_000n

const freshDatabase = async () =>
  process.argv.includes('--postgres') ? postgresForTests() : { url: undefined, stop: async () => {} }
const database = await freshDatabase()
const paper = startPaperChain()
const { rig, wallets } = await openManyPayers(onPaper(paper), database.url)
const accepted = await quoteOf(rig)

const answered = async (response: Response): Promise<void> => {
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
}

type Turn = { readonly cpuUs: number; readonly ms: number }

/** Processor and time of one call, over calls one after another. */
const timed = async (run: (at: number) => Promise<Response>): Promise<Turn> => {
  const [before, at] = [process.cpuUsage(), performance.now()]
  for (let call = 0; call < PER_TURN; call++) await answered(await run(call))
  const { user, system } = process.cpuUsage(before)
  return { cpuUs: (user + system) / PER_TURN, ms: (performance.now() - at) / PER_TURN }
}

const paired = async (): Promise<void> => {
  const [keys, vouchers]: [Turn[], Turn[]] = [[], []]
  // The first turns warm up.
  const [first] = wallets(1)
  if (first === undefined) return
  for (let turn = 0; turn < TURNS + 2; turn++) {
    const signed = Array.from({ length: PER_TURN }, (_, at) =>
      callOf(rig, accepted, first, turn * PER_TURN + at),
    )
    const byKey = await timed(() => rig.server.post(PATH, chat()))
    const byVoucher = await timed((at) => rig.server.fetch(signed[at] as Request))
    if (turn >= 2) {
      keys.push(byKey)
      vouchers.push(byVoucher)
    }
  }
  const more = (what: (turn: Turn) => number) =>
    median(vouchers.map((turn, at) => what(turn) - what(keys[at] as Turn)))
  const of = (turns: readonly Turn[]) =>
    `${median(turns.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs of processor, ${median(turns.map(({ ms }) => ms)).toFixed(2)} ms`
  console.log(`a call with a key: ${of(keys)}; with a voucher: ${of(vouchers)}`)
  console.log(
    `a voucher adds ${more(({ cpuUs }) => cpuUs).toFixed(0)} µs and ${more(({ ms }) => ms).toFixed(2)} ms (medians of ${TURNS} pairs)`,
  )
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const many = async (): Promise<void> => {
  if (!hasChain) return console.log('there is no node here to settle on')
  const own = await freshDatabase()
  const chain = await startChain()
  await installChannels(chain)
  const facilitator = await startFacilitator(chain)
  const its = { chain, facilitator, payers, calls, url: own.url, claimSum: CLAIM }
  try {
    const { units, ...phases } = await settleManyOnChain(its)
    console.log(`${payers} payers with ${calls} calls each: ${units} units, on the chain and in the ledger`)
    for (const [name, { transactions, ms, cpuMs }] of Object.entries(phases))
      console.log(`${name}: ${transactions} transactions, ${seconds(ms)}, ${seconds(cpuMs)} of processor`)
  } finally {
    await facilitator.stop()
    await chain.stop()
    await own.stop()
  }
}

if (!process.argv.includes('--many')) await paired()
await rig.server.stop()
await paper.stop()
await database.stop()
if (!process.argv.includes('--pairs')) await many()
process.exit(0)
