/**
 * The composition root: makes a running gateway from a store, a catalogue and the settings. Servers, tests, simulation
 * and bench all open theirs here, and each may bring its own clock, randomness, vendors, and parts that already run.
 */
import type { Assets } from '../assets/assets.ts'
import { keepSweeping } from '../assets/keep-sweeping.ts'
import { createBook } from '../book/book.ts'
import type { Book } from '../book/contract.ts'
import type { Outbox } from '../book/outbox.ts'
import { storeInTouch } from '../book/touch.ts'
import type { Act } from '../book/went-back.ts'
import { Lately } from '../core/lately.ts'
import type { Log } from '../core/log.ts'
import { type Clock, newId, systemClock } from '../core/time.ts'
import type { Meters } from '../metrics/meters.ts'
import { keepMonthsClosed } from '../payment/close-months.ts'
import { openStripe, type StripePayments } from '../payment/stripe.ts'
import { keepToppingUp } from '../payment/top-ups.ts'
import type { X402Options } from '../payment/x402/offer.ts'
import { openX402, type Rail } from '../payment/x402.ts'
import type { AssetStore } from '../store/calls/asset-port.ts'
import { type PublicParts, systemPublicParts } from '../transport/public-address.ts'
import { keepWatching } from './alerts/keep-watching.ts'
import { keepBatches } from './batches/keep-batches.ts'
import { keepBackground } from './jobs/keep-background.ts'
import { keepJobs } from './jobs/keep-jobs.ts'
import { type Kept, keepPruning } from './keep-pruning.ts'
import { keepSealing } from './keep-sealing.ts'
import {
  createGateway,
  type Gateway,
  type GatewayParts,
  type Offering,
  type Present,
  type Receipts,
  type Watch,
  withOffering,
} from './parts/gateway.ts'
import { openReceiptKeys, type ReceiptKeys } from './parts/receipt-keys.ts'
import { watchBooks } from './parts/watch-books.ts'
import { watchHouse } from './parts/watch-house.ts'
import { remembering } from './remember-acts.ts'
import { type KeptEnd, type LogWatch, newLogWatch } from './watch-log.ts'

type GatewaySetup = Pick<
  GatewayParts,
  | 'store'
  | 'offering'
  | 'options'
  | 'hash'
  | 'log'
  | 'publicUrl'
  | 'webhooks'
  | 'console'
  | 'config'
  | 'cells'
> & {
  /** What the operator sees of the server; what it finds by looking comes with the chores. */
  readonly watch?: Omit<Watch, 'books' | 'house' | 'log'>
  readonly clock?: Clock
  readonly random?: () => number
  /** Name of this process among those that share the store; a unique one by default. */
  readonly instance?: string
  /** The book of this process, if it runs already; by default one is started, with the nudge and the outbox. */
  readonly book?: Book
  readonly nudge?: Parameters<typeof createBook>[0]['nudge']
  /** Opens the outbox of a process, if it has one. */
  readonly outbox?: (who: { readonly instance: string; readonly log: Log }) => Promise<Outbox | undefined>
  readonly stripe?: Parameters<typeof openStripe>[0]['settings'] | undefined
  readonly x402?: X402Options | undefined
  /** What settles x402 payments; by default the operator's facilitator and nodes. */
  readonly rail?: Rail
  /** Where results other than chat are kept; without it no such product is sold. */
  readonly assets?: (own: { readonly store: AssetStore }) => Assets
  /** Absent when receipts are off. */
  readonly receipts?: Omit<Receipts, 'keys'> | undefined
  /** Where the end of the log of receipts is kept that was shown last. */
  readonly keptEnd?: KeptEnd | undefined
  /** Whether it also does the background work: invoices, alerts, top-ups, checks of the books. */
  readonly chores?: boolean
}

type RunningGateway = {
  /** The gateway as it was opened. */
  readonly gateway: Gateway
  readonly present: Present
  /** Calls that begin from now on use this catalogue. */
  readonly changeOffering: (offering: Offering) => void
  /** Stops the background work; resolves, within this time, when no job needs this process any more. */
  readonly stopChores: (forMs: number) => Promise<void>
}

/** Opens the parts; a book of its own is started, and waits until it knows the ledger. */
export const openGateway = async (it: GatewaySetup): Promise<RunningGateway> => {
  const { log, hash, clock = systemClock, random = Math.random, chores = false } = it
  const acts = new Lately<Act>()
  // A file loses nothing that it acknowledged.
  const store = it.store.engine === 'sqlite' ? it.store : remembering(it.store, acts, clock)
  const instance = it.instance ?? newId().slice(-8)
  const book = it.book ?? (await startBook(it, { clock, instance, random, acts }))
  const inTouch = storeInTouch(store, book)
  const stripe = it.stripe && (await openStripe({ settings: it.stripe, store: inTouch.funding, log }))
  const card = it.x402 && stripe?.cardRail({ clock, settleMs: it.x402.settleMs })
  const x402 =
    it.x402 && (await openX402({ store: inTouch, clock, log, hash, options: it.x402, card }, it.rail))
  const assets = it.assets?.({ store: inTouch.assets })
  const receiptKeys = () => openReceiptKeys({ store: store.receipts, hash, clock, log })
  const books = chores ? watchBooks({ store, clock, log }) : undefined
  const { dailyAmount: trialsDaily } = it.options.trial
  const house = chores ? watchHouse({ store, clock, log, trialsDaily }) : undefined
  const shown = chores ? newLogWatch(it.keptEnd, log) : undefined
  const gateway = createGateway({
    store,
    book,
    offering: it.offering,
    payments: { stripe, x402 },
    watch: { ...it.watch, books, house, log: shown },
    options: it.options,
    publicUrl: it.publicUrl,
    console: it.console,
    config: it.config,
    cells: it.cells,
    ...(assets === undefined ? {} : { assets }),
    ...(it.webhooks === undefined ? {} : { webhooks: it.webhooks }),
    clock,
    log,
    instance,
    hash,
    ...(it.receipts === undefined ? {} : { receipts: { keys: await receiptKeys(), ...it.receipts } }),
    random,
  })
  const present = { gateway }
  let stopJobs = keepsJobs(gateway) ? keepJobs(present) : undefined
  const stopBackground = it.options.responsesKeptMs > 0 ? keepBackground(present) : undefined
  const stopBatches = assets === undefined ? undefined : keepBatches(present, assets)
  const stopChores = chores
    ? startChores({
        ...{ store, hash, log, clock, random, stripe, assets },
        kept: { months: it.options.keepDetails, failureDays: it.options.keepFailuresDays },
        meters: it.watch?.meters,
        ...{ console: it.console, webhooks: it.webhooks ?? systemPublicParts },
        ...{ keys: gateway.receipts?.keys, shown },
      })
    : nothing
  return {
    gateway,
    present,
    changeOffering: (offering) => {
      present.gateway = withOffering(present.gateway, offering)
      if (keepsJobs(present.gateway)) stopJobs ??= keepJobs(present)
    },
    stopChores: async (forMs) => {
      stopChores()
      books?.stop()
      house?.stop()
      x402?.stop()
      await Promise.all([
        stopJobs?.(forMs),
        stopBackground?.(forMs),
        stopBatches?.(forMs),
        gateway.memory.failures.end(),
      ])
    },
  }
}

const startBook = async (
  { store, log, watch, options, nudge, outbox }: GatewaySetup,
  own: Pick<GatewayParts, 'clock' | 'instance' | 'random'> & { readonly acts: Lately<Act> },
): Promise<Book> => {
  const book = createBook({
    ...own,
    store,
    log,
    ...(nudge === undefined ? {} : { nudge }),
    outbox: await outbox?.({ instance: own.instance, log }),
    local: store.engine === 'sqlite',
    meters: watch?.meters,
    longestCallMs: options.timeouts.totalMs + SETTLE_MS,
  })
  await book.start()
  return book
}

/** How long after its own deadline the longest call may take to settle. */
const SETTLE_MS = 5_000

const nothing = (): void => undefined

const keepsJobs = ({ offering }: Gateway): boolean =>
  [...offering.media.values()].some(({ flow }) => flow === 'job')

type ChoreParts = Pick<GatewayParts, 'store' | 'log' | 'hash' | 'clock' | 'random'> & {
  readonly stripe: StripePayments | undefined
  readonly assets: Assets | undefined
  readonly kept: Kept
  readonly meters: Meters | undefined
  readonly console: GatewayParts['console']
  readonly webhooks: PublicParts
  readonly keys: ReceiptKeys | undefined
  readonly shown: LogWatch | undefined
}

/** The background work: invoices, alerts, top-ups, pruning. Returns how to stop it. */
const startChores = (parts: ChoreParts): (() => void) => {
  const { store, log, clock, random, stripe, assets, kept } = parts
  const stops = [
    keepMonthsClosed({ store: store.credit, clock, log }),
    keepWatching(parts, random),
    keepPruning({ store: store.prune, clock, log, kept }),
    keepSealing(
      { store: store.chain, receipts: store.log, clock, log, keys: parts.keys, shown: parts.shown },
      random,
    ),
    ...(assets === undefined ? [] : [keepSweeping({ assets, clock, log })]),
    ...(stripe === undefined
      ? []
      : [
          keepToppingUp({
            store: store.funding,
            stripe,
            log,
            clock,
            random,
          }),
        ]),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
