/**
 * `npm run bench -- --vouchers`: what a call with a voucher adds to the same call with a key, in turns of both; and how many
 * transactions many payers need. One process, a scripted vendor, a chain of paper, vouchers signed beforehand. Options:
 * --payers N, --calls N (each), --postgres.
 */
import { callOf, openManyPayers, PATH, quoteOf, UNITS } from '../test/payments/many-payers.ts'
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
/** Calls between two rounds of claims. */
const ROUND = 1_000

const database = process.argv.includes('--postgres') ? await postgresForTests() : undefined
const paper = startPaperChain()
const { rig, rule, wallets } = await openManyPayers(paper, database?.url)
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

const many = async (): Promise<void> => {
  rule.claimSum = CLAIM
  const all = wallets(payers + 1).slice(1)
  const before = { ...paper.sent }
  let made = 0
  for (let call = 0; call < calls; call++)
    for (const wallet of all) {
      await answered(await rig.server.fetch(callOf(rig, accepted, wallet, call)))
      if (++made % ROUND === 0) await rig.server.x402?.round()
    }
  rule.claimSum = 1n
  await rig.server.x402?.round()
  const [claims, sweeps] = [paper.sent.claim - before.claim, paper.sent.settle - before.settle]
  const claimed = [...paper.claimed.values()].reduce((sum, one) => sum + one, 0n) * 1_000n
  const booked = -(await rig.server.store.ledger.balance('x402'))
  if (claimed !== booked) throw new Error(`claimed ${claimed}, in the ledger ${booked}`)
  console.log(
    `${payers} payers with ${calls} calls each, ${BigInt(made) * UNITS} units: ${claims} claims and ${sweeps} sweeps, ${claims + sweeps} transactions`,
  )
}

await paired()
await many()
await rig.server.stop()
await paper.stop()
await database?.stop()
process.exit(0)
