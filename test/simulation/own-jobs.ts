/**
 * Jobs by keys that their organisation has at the vendor itself, half of them in half of the histories: what the vendor bills is
 * held beside the charge, and is counted if and only if the job is charged.
 */
import { least } from '../../src/core/money.ts'
import { estimateAccountOf, estimateOf, VENDORS } from '../../src/ledger/estimates.ts'
import type { NewRun, Run } from '../../src/store/calls/run-port.ts'
import type { Store } from '../../src/store/port.ts'
import type { Stage } from './stage.ts'

/** What was charged or counted under this name. */
export const usagesOf = async ({ ledger }: Store, ref: string) =>
  (await ledger.transfersOf(ref)).filter(({ kind }) => kind === 'usage')

export const createOwnJobs = ({ world, hit, fail }: Stage, wallet: string) => {
  const isOn = world.draws('own jobs').random() < 0.5
  const lists = new Map<string, bigint>()
  const isOwn = (it: NewRun): boolean =>
    isOn && it.payer === undefined && world.draws(`own job ${it.id}`).random() < 0.5
  const billedFor = (id: string, list: bigint): bigint =>
    (list * BigInt(world.draws(`bill ${id}`).pick(1, 120))) / 100n

  /** From now on the ledger's jobs are by own keys, and cost a fee. */
  const through = ({ runs }: Store): void => {
    const { begin, end } = runs
    runs.begin = async (it) => {
      if (!isOwn(it)) return begin(it)
      const list = 2n * it.amount
      lists.set(it.id, list)
      const begun = await begin({ ...it, list: { amount: list, useful: 1n } })
      if ('estimated' in begun) hit('jobs: estimate refused')
      return begun
    }
    runs.end = (id, how) => {
      const list = lists.get(id)
      if (list === undefined || how.settle === undefined) return end(id, how)
      const detail = { ...how.settle.detail, vendorEstimate: String(billedFor(id, list)) }
      return end(id, { ...how, settle: { ...how.settle, detail } })
    }
  }

  /** The law, of a job that is over. */
  const check = async (store: Store, { id, state }: Pick<Run, 'id' | 'state'>): Promise<void> => {
    const list = lists.get(id)
    const posted = await usagesOf(store, estimateOf(id, 'job'))
    const due = list === undefined || state !== 'done' ? undefined : least(billedFor(id, list), list)
    if (posted.length !== (due === undefined ? 0 : 1))
      fail(`the estimate of a job that is ${state} was counted ${posted.length} times`)
    const [one] = posted
    if (one === undefined) return
    hit('jobs: estimate counted')
    if (one.amount !== due || one.debit !== estimateAccountOf(wallet) || one.credit !== VENDORS)
      fail(`an estimate of ${due} was posted as ${one.amount} from ${one.debit} to ${one.credit}`)
  }

  return { through, check }
}
