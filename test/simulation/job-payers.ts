/**
 * Callers who pay for jobs by x402, guests and holders of keys, or by card: they ask for a quote, sign, send it again when they
 * hear nothing, and sometimes cancel.
 *
 * The laws: what was paid is the job's charge and change, to the last unit; a payment buys one job; one that delivered
 * nothing is paid back whole.
 */
import { silentLog } from '../../src/core/log.ts'
import type { Nano } from '../../src/core/money.ts'
import { openX402, type X402 } from '../../src/payment/x402.ts'
import type { Store } from '../../src/store/port.ts'
import { createCards, tillOf } from './card-rail.ts'
import { PICTURE } from './job-vendor.ts'
import { offersIn, sign } from './payloads.ts'
import { hash, x402Options } from './process.ts'
import { createChain } from './rail.ts'
import type { Stage } from './stage.ts'

/** The answer that a caller gets: the id is that of the run. */
export type JobAnswer = {
  readonly status: number
  readonly id: string
  readonly cost: string | undefined
  /** What is due, where a payment is: by x402, and by MPP. */
  readonly quote: string | undefined
  readonly challenges?: string | undefined
}

export type JobRequest = {
  /** Of a key; undefined for a guest. */
  readonly key: number | undefined
  readonly waitS: number
  readonly idempotencyKey?: string | undefined
  /** Brings its payment, or asks for the quote of one. */
  readonly payment?: { readonly header?: string | undefined; readonly mpp?: string | undefined }
}

type Parts = Stage & {
  readonly store: () => Store
  readonly ask: (inputs: object, it: JobRequest) => Promise<JobAnswer | undefined>
  readonly cancel: (runId: string) => Promise<void>
  /** All pay by card, without a key; else all pay on a chain. */
  readonly byCard: boolean
}

type Bought = {
  readonly id: string
  readonly nonce: string
  readonly units: bigint
  readonly bearer: boolean
}

export const CHANGE_WALLET = 'xc'
const HOUR_MS = 3_600_000
/** Change of what was never served is due after a day. */
export const CHANGE_MS = 27 * HOUR_MS
const TRIES = 6
/** The fewest cents that Stripe takes. */
const LEAST: Nano = 500_000_000n

export const createJobPayers = ({ world, store, ask, cancel, byCard, hit, fail, sleep }: Parts) => {
  const { random, pick } = world.draws('payers of jobs')
  const chain = createChain(world, hit)
  const cards = byCard ? createCards(world, { hit, fail }) : undefined
  const till = tillOf(chain, cards)
  const bought: Bought[] = []

  type Pledged = { readonly it: Bought; readonly payment: NonNullable<JobRequest['payment']> }

  const pledgeCard = (challenges: string | undefined): Pledged | undefined => {
    const granted = cards?.pledge(challenges)
    if (granted === undefined) return undefined
    const it = { ...granted, bearer: false }
    bought.push(it)
    return { it, payment: { mpp: granted.header } }
  }

  const pledge = (quote: string, bearer: boolean): Pledged | undefined => {
    const offers = offersIn(quote)
    if (offers.some(({ scheme }) => scheme === 'upto'))
      fail('a job is sold for an authorisation that can be emptied meanwhile')
    const accepted = offers.find(({ scheme }) => scheme === 'exact')
    if (accepted === undefined) return undefined
    const number = bought.length + 1
    const { header, ...signed } = sign({ world, chain }, { accepted, number, poor: random() < 0.06 })
    const it = { ...signed, bearer }
    bought.push(it)
    return { it, payment: { header } }
  }

  /** Buys one job, from its quote until the payer learns how it ended or has had enough. */
  const buy = async (inputs: { readonly n: number; readonly made: number }): Promise<void> => {
    const key = !byCard && random() < 0.5 ? pick(0, 1) : undefined
    const quote = await ask(inputs, { key, waitS: 0, payment: {} })
    if (quote?.quote === undefined) return hit('jobs: no quote')
    const signed = byCard ? pledgeCard(quote.challenges) : pledge(quote.quote, key !== undefined)
    if (signed === undefined) return hit('jobs: no quote')
    const bound = BigInt(inputs.n) * PICTURE
    if (signed.it.units * till.unit !== (byCard ? LEAST : bound)) fail('a quote is not the bound of its job')
    let run: string | undefined
    for (let tries = 0; tries < TRIES; tries++) {
      const heard = await ask(inputs, { key, waitS: pick(0, 5), payment: signed.payment })
      if (heard !== undefined && heard.status < 300) {
        hit(`jobs: paid for, ${heard.status}`)
        if (run !== undefined && run !== heard.id) fail('one payment got two jobs')
        run = heard.id
        if (heard.status === 200 && heard.cost !== `0.0${inputs.made}`)
          fail(`a paid job says it cost ${heard.cost}`)
        if (heard.status === 200 || random() < 0.3) return
        if (random() < 0.15) await cancel(heard.id)
      }
      await sleep(pick(20, 3_000))
    }
  }

  /** What the payment of one call brought is its charge and its change. */
  const checkOne = async (it: Bought): Promise<Nano> => {
    const payment = await store().payments.payment(it.id)
    const { state: onChain, taken = 0n } = till.landed(it.nonce)
    if (payment?.state === 'settling') fail('the outcome of a job’s payment was never found out')
    if ((onChain === 'paid') !== (payment?.state === 'settled'))
      fail(`on the chain a job’s payment is ${onChain}, in the ledger ${payment?.state}`)
    if (payment?.state !== 'settled') return 0n
    if ((await store().ledger.balance(payment.account)) !== 0n)
      fail('a job’s payment is not empty at its end')
    const usages = (await store().ledger.transfersOf(payment.callId)).filter(({ kind }) => kind === 'usage')
    if (usages.some(({ debit }) => debit !== payment.account)) fail('a paid job was charged to somebody else')
    const spent = usages.reduce((sum, { amount }) => sum + amount, 0n)
    hit(spent === 0n ? 'jobs: paid back whole' : 'jobs: paid for and charged')
    if (payment.changeTo === undefined) fail('the change of a job was never given')
    return taken * till.unit - spent
  }

  return {
    railOf: till.railOf,
    buy,
    /**
     * With all processes gone: a new one resolves what is open and gives all change, for a day and more. `deposit`: what the wallet
     * was paid, which stands beside the cards.
     */
    finish: async (deposit: Nano): Promise<{ readonly bearers: Nano; readonly guests: Nano }> => {
      till.calm()
      const clock = world.clock(() => true)
      const parts = { store: store(), clock, log: silentLog, hash, options: x402Options }
      const mode: X402 = await openX402(
        parts,
        till.railOf(() => true),
      )
      mode.stop()
      for (let passed = 0; passed < CHANGE_MS; passed += HOUR_MS) {
        await mode.round()
        await sleep(HOUR_MS)
      }
      for (const { id, bearer } of bought) if (!bearer) await mode.payChange(id, CHANGE_WALLET)
      const change = { bearers: 0n, guests: 0n }
      for (const it of bought) change[it.bearer ? 'bearers' : 'guests'] += await checkOne(it)
      const booked = (await store().ledger.balance(till.account)) + (byCard ? deposit : 0n)
      if (booked !== -till.received()) fail(`${till.received()} was settled, ${booked} is in the ledger`)
      return change
    },
  }
}
