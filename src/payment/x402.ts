/**
 * The x402 mode: the caller pays for one request with a token on a chain; no key is needed. The money arrives before
 * the model runs and is kept in an account of its own. It is charged like any other, and what is left goes back as
 * change.
 */
import type { JsonObject } from '../core/json-body.ts'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Clock, Instant } from '../core/time.ts'
import { channelAccountOf, PAYMENTS_ORG, paymentAccountOf } from '../ledger/types.ts'
import type { ChangePaid, Payment } from '../store/payments/payment-port.ts'
import { theHouse } from '../store/people/event-port.ts'
import type { Store } from '../store/port.ts'
import { type CardRail, withCards } from './stripe-tokens.ts'
import { type Chain, chain } from './x402/chain.ts'
import { type ChannelNode, channelNode } from './x402/channel-node.ts'
import { type Channels, openChannels } from './x402/channels.ts'
import { claimsOf } from './x402/claim.ts'
import { type Facilitator, type Kinds, openFacilitator } from './x402/facilitator.ts'
import { KnownChannels } from './x402/known-channels.ts'
import type { Offer, X402Options } from './x402/offer.ts'
import type { Presented } from './x402/presented.ts'
import type { Hash } from './x402/quote.ts'
import { type Collected, collect, isIn, resolve, type SettlementParts } from './x402/settlement.ts'
import { type Authorized, authorize, type Finished, finish } from './x402/upto.ts'
import { openVoucherCheck, type VoucherCheck } from './x402/voucher.ts'

/** The key that stands for all callers without one; the operator may limit or disable it like any other. */
export const GUESTS_KEY = 'key_x402_guests'
const GUESTS_WALLET = 'wal_x402_guests'

type Collection = {
  readonly presented: Presented
  readonly requirements: JsonObject
  readonly callId: string
  readonly fingerprint: string
  readonly invoiceId?: string | undefined
  readonly creditTo: string | undefined
}

type Authorization = Omit<Collection, 'invoiceId' | 'creditTo'>

export type X402 = {
  readonly options: X402Options
  /** The hash under which the guests' key is found, and its hash under the previous secret. */
  readonly guestsHash: string
  readonly guestsHashBefore: string | undefined
  /** What callers can pay with now. */
  offers(): readonly Offer[]
  /** What only the scheme `Payment` takes: Stripe's shared payment tokens, where they are on. */
  readonly cards: readonly Offer[]
  /** What prevents payments from being taken; undefined if nothing does. */
  trouble(): string | undefined
  /** Made under the server's secret: proves quotes. */
  readonly hash: Hash
  now(): Instant
  /** The account that holds what a payment brought. */
  accountOf(paymentId: string): string
  collect(it: Collection): Promise<Collected>
  /** The facilitator's address that payers of the scheme `upto` name; undefined if this bound is not taken that way. */
  uptoBy(offer: Offer, bound: Nano): string | undefined
  /** The token of an open payment, while it is still offered. */
  offerOf(payment: Payment): Offer | undefined
  /** Records what a payer authorised, before its call runs. */
  authorize(it: Authorization): Promise<Authorized>
  /** Settles what the call of an authorised payment was charged. */
  finish(paymentId: string, offer: Offer): Promise<Finished>
  /** What a channel of a token must be; undefined where no vouchers are taken. */
  channelTerms: Channels['terms']
  channelOf: Channels['stands']
  takeVoucher: Channels['take']
  beginVoucher: Channels['begin']
  chargeVoucher: Channels['finish']
  voucherOpened: Channels['opened']
  channelCharged: Channels['charged']
  /** Pays the change of a call that has ended; if that fails, the next round does it. */
  payChange(paymentId: string, to: string): Promise<ChangePaid | undefined>
  /** A text with which its holder can claim the change of a payment. */
  claimFor(paymentId: string): string
  paymentOfClaim(claim: string): string | undefined
  /** One round over payments whose outcome is open and change that is due. */
  round(): Promise<void>
  stop(): void
}

type X402Parts = {
  readonly store: Pick<Store, 'keys' | 'payments' | 'channels' | 'wallets'>
  readonly clock: Clock
  readonly log: Log
  readonly hash: Hash
  readonly options: X402Options
  readonly card?: CardRail | undefined
}

const ROUND_MS = 5_000
const ROUND_SIZE = 20
const KINDS_ROUNDS = 60
/** How many payments one process takes at once; senders of junk wait for the facilitator like everyone else. */
const COLLECTING_MAX = 256

/** What settles payments, the chain that shows whether they happened, and how vouchers are checked. */
type WholeRail = {
  readonly facilitator: Facilitator
  readonly chain: Chain
  readonly channelNode: ChannelNode
  readonly openCheck: () => Promise<VoucherCheck>
}

/** What it leaves out is the product's own. */
export type Rail = Pick<WholeRail, 'facilitator'> & Partial<WholeRail> & { readonly card?: CardRail }

const own = { chain, channelNode, openCheck: openVoucherCheck }

/** Prepares the mode: the guests' key, and the rounds. By default its rail is the operator's facilitator and nodes. */
export const openX402 = async (parts: X402Parts, given?: Rail): Promise<X402> => {
  const { store, hash } = parts
  const rail = { ...own, ...(given ?? { facilitator: await openFacilitator(parts.options, parts.log) }) }
  const guestsHash = hash(GUESTS)
  await makeGuests(store, hash, guestsHash)
  const x402 = createX402({ ...parts, card: given?.card ?? parts.card }, rail, guestsHash)
  void roundsOf(parts.clock, x402)
  return x402.mode
}

const GUESTS = 'x402 guests'

const makeGuests = async (store: X402Parts['store'], hash: Hash, guestsHash: string): Promise<void> => {
  if ((await store.keys.key(GUESTS_KEY)) !== undefined) {
    // Nobody has a token for it, so it moves to a new secret at once.
    const before = hash.before?.(GUESTS)
    if (before !== undefined)
      await store.keys.rehash(GUESTS_KEY, { before: [before], hash: guestsHash, hashedBy: hash.id })
    return
  }
  await store.wallets.createWallet(
    { id: GUESTS_WALLET, orgId: PAYMENTS_ORG, name: 'callers without a key' },
    theHouse,
  )
  try {
    await store.keys.createKey(
      {
        id: GUESTS_KEY,
        hash: guestsHash,
        hashedBy: hash.id,
        orgId: PAYMENTS_ORG,
        walletId: GUESTS_WALLET,
        label: 'x402 without a key',
        prefix: 'x402',
        limits: {},
        canManage: false,
      },
      theHouse,
    )
  } catch (error) {
    // Another process was first.
    if ((await store.keys.key(GUESTS_KEY)) === undefined) throw error
  }
}

type X402Running = { readonly mode: X402; readonly stopped: () => boolean }

const roundsOf = async (clock: Clock, { mode, stopped }: X402Running): Promise<void> => {
  while (!stopped()) {
    await mode.round()
    await clock.sleep(ROUND_MS)
  }
}

/** Ends the payments whose outcome is open, and pays the change that is due. */
const settleOpen = async (settlement: SettlementParts, mode: X402): Promise<void> => {
  const { store } = settlement
  for (const payment of await store.unsettledPayments(ROUND_SIZE)) {
    if (payment.scheme === 'batch-settlement') {
      await mode.chargeVoucher(payment.id)
      continue
    }
    const offer = mode.offerOf(payment)
    if (offer === undefined) continue
    if (payment.scheme === 'upto') await mode.finish(payment.id, offer)
    else await resolve(settlement, payment, offer)
  }
  for (const { id, creditTo } of await store.dueChange(ROUND_SIZE))
    if (creditTo !== undefined) await mode.payChange(id, creditTo)
}

/** Whether the operator lets a payer authorise so much. */
const isUpto = ({ upto }: X402Options, bound: Nano): boolean =>
  upto !== undefined && bound > 0n && bound <= upto.most

const noneOf = (offers: readonly Offer[]): string | undefined =>
  offers.length === 0 ? 'the facilitator takes none of the tokens that are set up' : undefined

/** Takes so many at once; to more it says that nothing can be reached. */
const atMost = (most: number) => {
  let taking = 0
  return async <T>(take: () => Promise<T>): Promise<T | { outcome: 'unreachable' }> => {
    if (taking >= most) return { outcome: 'unreachable' }
    taking++
    try {
      return await take()
    } finally {
      taking--
    }
  }
}

const knownBy = (clock: Clock): KnownChannels => new KnownChannels(() => clock.monotonicMs())

/** What calls under vouchers ask for. */
const voucherCalls = ({ begin, finish, opened, charged }: Channels) => ({
  ...{ beginVoucher: begin, chargeVoucher: finish, voucherOpened: opened, channelCharged: charged },
})

const createX402 = (parts: X402Parts, rail: WholeRail, guestsHash: string): X402Running => {
  const { store, log, hash, options, card } = parts
  const settlement: SettlementParts = {
    store: store.payments,
    facilitator: card === undefined ? rail.facilitator : withCards(rail.facilitator, card),
    chain: rail.chain,
    log,
    firstTryMs: options.settleMs * 2 + 1_000,
    now: () => parts.clock.now(),
  }
  let kinds: Kinds | undefined
  let rounds = 0
  let stopped = false
  const accountOf = (paymentId: string): string =>
    paymentAccountOf(hash(`x402 account ${paymentId}`).slice(0, 32))
  const oneOfMany = atMost(COLLECTING_MAX)
  const channelAccount = (id: string) => channelAccountOf(hash(`x402 account channel ${id}`).slice(0, 32))
  const more = { options, channelAccountOf: channelAccount, kinds: () => kinds, known: knownBy(parts.clock) }
  const channels = openChannels({ ...rail, ...settlement, ...more, store: store.channels })
  const payChange = (paymentId: string, to: string): Promise<ChangePaid | undefined> =>
    store.payments.payChange(paymentId, to).catch((error: unknown) => {
      log.warn('the change of a payment could not be paid yet', { payment: paymentId, error: String(error) })
      return undefined
    })

  const round = async (): Promise<void> => {
    // Asked again now and then: the address that payers of `upto` name may change.
    if (kinds === undefined || ++rounds % KINDS_ROUNDS === 0)
      kinds = (await rail.facilitator.supported()) ?? kinds
    await settleOpen(settlement, mode)
    await channels.round()
  }

  const mode: X402 = {
    options,
    guestsHash,
    guestsHashBefore: hash.before?.(GUESTS),
    hash,
    now: settlement.now,
    // A facilitator that has not answered yet gets the benefit of the doubt: no payment is taken without it.
    offers: () =>
      options.offers.filter(({ network }) => kinds === undefined || kinds.has(`2 exact ${network}`)),
    trouble: () => (kinds === undefined ? 'the facilitator has not answered yet' : noneOf(mode.offers())),
    accountOf,
    cards: card === undefined ? [] : [card.offer],
    offerOf: (payment) => [...options.offers, ...mode.cards].find((one) => isIn(payment, one)),
    collect: (it) => oneOfMany(() => collect(settlement, { ...it, account: accountOf(it.presented.id) })),
    uptoBy: (offer, bound) => (isUpto(options, bound) ? kinds?.get(`2 upto ${offer.network}`) : undefined),
    authorize: (it) =>
      oneOfMany(() =>
        authorize(settlement, {
          ...it,
          account: accountOf(it.presented.id),
          most: options.upto?.most ?? 0n,
        }),
      ),
    finish: async (paymentId, offer) => {
      const finished = await finish(settlement, paymentId, offer)
      // The rest, less than one unit of the token, becomes revenue; if that fails now, the next round does it.
      if (finished.outcome === 'settled') await payChange(paymentId, 'revenue')
      return finished
    },
    channelTerms: channels.terms,
    channelOf: channels.stands,
    takeVoucher: (it) => oneOfMany(() => channels.take(it)),
    ...voucherCalls(channels),
    payChange,
    ...claimsOf(hash),
    round: () =>
      round().catch((error: unknown) => log.warn('a round of payments failed', { error: String(error) })),
    stop: () => {
      stopped = true
    },
  }
  return { mode, stopped: () => stopped }
}
