/** Runs many histories and prints `N passed, N failed`. Options: --seeds N, --from N, --until-caught, --only <kind>. */
import { noteNow } from '../now.ts'
import { runBatches } from './batches.ts'
import { runCards } from './cards.ts'
import { runClocks } from './clocks.ts'
import { runFailover } from './failover.ts'
import { runHistory } from './history.ts'
import { runJobs, runJobsByCard } from './jobs.ts'
import type { Reached } from './law.ts'
import { runCalm } from './liveness.ts'
import { runPaidAgain } from './paid-again.ts'
import { runShares } from './shares.ts'
import { runVouchers } from './vouchers.ts'

/** This many seeds are enough to prove something, and then only if they have reached all of these states. */
const ENOUGH = 150

const mustReach = [
  'calm: admitted',
  'calm: held',
  'calm: spent',
  'calm: extended',
  'calm: extension refused',
  'calm: extended while draining',
  'calm: killed',
  'calm: drained',
  'calm: paused',
  'clocks: forward',
  'clocks: back',
  'clocks: killed',
  'clocks: answered',
  'clocks: serves again',
  'shares: counted without asking',
  'shares: killed',
  'shares: partition',
  'shares: refused',
  'shares: the clock is set forward',
  'jobs: answered',
  'jobs: accepted',
  'jobs: done',
  'jobs: estimate counted',
  'jobs: estimate refused',
  'jobs: failed',
  'jobs: cancelled',
  'jobs: killed',
  'jobs: partition',
  'jobs: lost while submitted',
  'jobs: taken up',
  'jobs: repeated',
  'jobs: result asked for again',
  'jobs: overdue',
  'jobs: key disabled',
  'jobs: cap lowered',
  'jobs: paid for, 200',
  'jobs: paid for, 202',
  'jobs: paid for and charged',
  'jobs: paid back whole',
  'batches: begun',
  'batches: result',
  'batches: result of a vendor’s batch',
  'batches: error ',
  'batches: error batch_cancelled',
  'batches: error batch_expired',
  'batches: error insufficient_credit',
  'batches: error key_disabled',
  'batches: insufficient_balance',
  'batches: cancelled',
  'batches: killed',
  'batches: partition',
  'batches: cap lowered',
  'batches: key disabled',
  'batches: its vendor loses a line',
  'batches: the name of a part is lost',
  'batches: results are written again',
  'estimate counted',
  'estimate refused',
  'failover: answered',
  'failover: voided',
  'failover: key made',
  'failover: paid in',
  'failover: sub-wallet made',
  'failover: revoked',
  'failover: a setting',
  'failover: killed',
  'failover: at once',
  'failover: after an outage',
  'failover: exact',
  'failover: charged late',
  'failover: written off',
  'paid again: answered',
  'paid again: guest answered',
  'paid again: comes again',
  'paid again: killed',
  'cards: answered',
  'cards: authentication_required',
  'cards: bill exact',
  'cards: card_declined',
  'cards: change paid',
  'cards: killed',
  'cards: paid back whole',
  'cards: partition',
  'cards: payment_already_used',
  'cards: payment_unconfirmed',
  'cards: replayed',
  'jobs by card: killed',
  'jobs by card: paid back whole',
  'jobs by card: paid for and charged',
  'jobs by card: paid for, 200',
  'jobs by card: paid for, 202',
  'jobs by card: taken up',
  'stripe: a fault that stays',
  'stripe: answer lost',
  'stripe: canceled',
  'stripe: looked for',
  'vouchers: answered',
  'vouchers: killed',
  'vouchers: charged, killed, and answered when sent again',
  'vouchers: corrected',
  'vouchers: a payer leaves',
  'vouchers: no answer',
  'vouchers: deposit landed',
  'vouchers: claim landed',
  'vouchers: settle landed',
  'vouchers: the facilitator’s answer is lost',
  'vouchers: channel_is_being_withdrawn',
  'vouchers: invalid_batch_settlement_evm_channel_busy',
  'vouchers: invalid_batch_settlement_evm_cumulative_amount_mismatch',
  'vouchers: invalid_batch_settlement_evm_cumulative_exceeds_balance',
  'vouchers: invalid_batch_settlement_evm_voucher_signature',
  'vouchers: payment_already_used',
  'answered',
  'voided',
  'killed',
  'partition',
  'outage',
  'extended',
  'extension refused',
  'intent refused',
  'cost above the hold',
  'fenced by itself',
  'revocation acknowledged',
  'cap changed',
  'key rotated',
  'disabled key rotated',
  'closed limit acknowledged',
  'admitted under a named sub-wallet',
  'hold: daily_limit_usd',
  'rate refused: rpm',
  'rate refused: rph',
  'rate refused: tpm',
  'rate: tokens corrected',
  'admitted in the new month',
  'hold: key_disabled',
  'bill: charged late',
  'bill: recovered',
  'hold: wallet',
  'hold: spend_cap_usd',
  'hold: monthly_cap_usd',
  'hold: weekly_cap_usd',
  'hold: daily_cap_usd',
  'hold: sub_wallet',
  'hold: stop_at_remaining_usd',
  'admitted on credit',
  'hold: credit_line',
  'bill: exact',
  'settle refused',
  'answered from the outbox',
  'outbox left behind',
  'outbox torn',
  'outbox taken from the living',
  'outbox not writable',
  'facilitator: settled',
  'facilitator: refused',
  'facilitator: answer lost',
  'repeat: answered',
  'repeat: replayed',
  'repeat: taken over',
  'repeat: not answered',
  'repeat: bill exact',
  'x402: answered',
  'x402: pays by mpp',
  'x402: replayed',
  'x402: no answer',
  'x402: insufficient_funds',
  'x402: insufficient_balance',
  'x402: idempotency_key_reused',
  'x402: payment_already_used',
  'x402: payment_unconfirmed',
  'x402: upstream_error',
  'x402: bill exact',
  'x402: change paid',
  'x402: change paid_before',
  'x402: change open',
  'x402: paid back whole',
  'x402: ended failed',
  'x402: pays by upto',
  'x402: ended lost',
  'x402: payment_failed',
]

/** A state that so many seeds may miss, and a seed of 'all else' that reaches it: played where it was missed. */
const reachedBy: Readonly<Record<string, number>> = {
  'bill: recovered': 172,
  'hold: stop_at_remaining_usd': 870,
  'x402: insufficient_balance': 29,
}

const option = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name)
  return at < 0 ? fallback : Number(process.argv[at + 1])
}
const seeds = option('--seeds', 2_000)
const from = option('--from', 1)
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined
/**
 * The kinds of histories, and how many seeds of each a run plays: a kind that shows as much in fewer, or costs more,
 * runs less often.
 */
const kinds: readonly {
  readonly name: string
  readonly each: number
  readonly run: (seed: number, reached: Reached) => void
}[] = [
  { name: 'calm', each: 5, run: runCalm },
  { name: 'clocks', each: 10, run: runClocks },
  { name: 'paid-again', each: 10, run: runPaidAgain },
  { name: 'jobs', each: 10, run: runJobs },
  { name: 'batches', each: 10, run: runBatches },
  { name: 'shares', each: 10, run: runShares },
  { name: 'failover', each: 10, run: runFailover },
  { name: 'vouchers', each: 20, run: runVouchers },
  { name: 'cards', each: 10, run: runCards },
  { name: 'jobs by card', each: 20, run: runJobsByCard },
  { name: 'all else', each: 1, run: runHistory },
]
if (only !== undefined && !kinds.some(({ name }) => name === only)) throw new Error(`no kind is ${only}`)
const untilCaught = process.argv.includes('--until-caught')
const reached = new Map<string, number>()
const broken: string[] = []
const started = performance.now()
let ran = 0
const play = (seed: number, chosen: typeof kinds): void => {
  ran++
  noteNow(`seed ${seed}`)
  try {
    for (const { run } of chosen) run(seed, reached)
  } catch (error) {
    broken.push(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
const isEnough = () => broken.length >= (untilCaught ? 1 : 20)
for (let seed = from; seed < from + seeds && !isEnough(); seed++)
  play(
    seed,
    kinds.filter(({ name, each }) => (only === undefined ? seed % each === 0 : name === only)),
  )
const mayMiss = ran < ENOUGH || only !== undefined
const missing = () => mustReach.filter((what) => !reached.has(what))
if (!mayMiss)
  for (const what of missing()) {
    const seed = reachedBy[what]
    if (seed !== undefined)
      play(
        seed,
        kinds.filter(({ name }) => name === 'all else'),
      )
  }
console.log(
  [...reached]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${what} ${count}`)
    .join(' · '),
)
for (const line of broken) console.log(line)
const missed = mayMiss ? [] : missing()
if (missed.length > 0) console.log(`not reached: ${missed.join(', ')}`)
console.log(
  `from seed ${from} on ${ran} seeds, ${((performance.now() - started) / ran).toFixed(1)} ms a seed`,
)
const failed = broken.length + missed.length
console.log(`${ran - broken.length} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
