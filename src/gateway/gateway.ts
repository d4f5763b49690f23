/** The parts a call passes through, in one record; made once by the wiring. */
import { type GuestRates, newGuestRates } from '../admission/guest-rates.ts'
import { type Kept, newKept } from '../admission/kept.ts'
import type { Book } from '../book/words.ts'
import type { Block } from '../core/address.ts'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type { StripePayments } from '../payment/stripe.ts'
import type { X402 } from '../payment/x402.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import { type Deployment, newTraffic, type Traffic } from '../routing/deployments.ts'
import type { Store } from '../store/port.ts'
import type { Timeouts } from '../transport/exchange.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { type Doors, newDoors } from './doors.ts'
import { type Faults, newFaults } from './faults.ts'
import { createHouseRisk, type HouseRisk } from './house-risk.ts'
import { newPatience, type Patience } from './patience.ts'
import type { ReceiptKeys } from './receipt-keys.ts'
import { newRepeats, type Repeats } from './repeats.ts'
import type { BooksWatch } from './watch-books.ts'

export type GatewayOptions = {
  /** What one credit is worth, in nano-USD. Presentation only. */
  readonly creditNano: Nano
  /** Requests per minute of a key without an `rpm_limit`. */
  readonly planRpm: number
  /** Requests per minute of each kind that an address may make without paying: quotes, trials, claims of change. */
  readonly guestRpm: number
  /** Reports of usage per minute and key. */
  readonly reportRpm: number
  readonly bodyBytesMax: number
  /** Bytes of bodies, whole answers and recordings that the process has in hand at once. */
  readonly bufferBytesMax: number
  /** Bytes of answers that are kept for repeats of one key in a day. */
  readonly keptBytesMax: number
  /** How much of its open calls and bytes one key may have. */
  readonly keySharePercent: number
  /** How long a body may take to come, and how long a reader of a stream may take nothing. */
  readonly bodyMs: number
  readonly readerMs: number
  /** How long a connection may be idle. */
  readonly connectionSeconds: number
  readonly timeouts: Timeouts
  readonly openCallsMax: number
  /** How late the process may be with its work before it turns calls away; 0 for never. */
  readonly overloadMs: number
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly Block[]
  /** What an anonymous trial is given (0 for none), what all of a day are, and for how long. */
  readonly trial: {
    readonly amount: Nano
    readonly dailyAmount: Nano
    readonly lifeMs: number
    readonly againMs: number
  }
  /** Where people get a key. */
  readonly signUpUrl?: string | undefined
  /** What either side of a referral is credited. */
  readonly referral: { readonly referrerAmount: Nano; readonly claimantAmount: Nano }
  /** Discounted calls start while fewer calls than this are open. */
  readonly discountOpenMax: number
  /** How long responses are kept for their keys after their last use; absent or 0 keeps none. */
  readonly responsesKeptMs?: number
}

export type Receipts = {
  readonly keys: ReceiptKeys
  /** Who issues them: the claim `iss` of new ones is the first name; those under the others stay good. */
  readonly issuers: readonly [string, ...string[]]
  /** Whether every answer carries its receipt; otherwise they are issued when asked for. */
  readonly inAnswers: boolean
}

export type Parts = {
  readonly store: Store
  readonly book: Book
  readonly catalogue: Catalogue
  readonly vendors: ReadonlyMap<string, VendorSetup>
  /** Equals of a model at other vendors, by its id: asked in order when its own vendor fails. */
  readonly failover: ReadonlyMap<string, readonly string[]>
  /** Payments by Stripe, where they are set up. */
  readonly stripe?: StripePayments | undefined
  readonly options: GatewayOptions
  readonly clock: Clock
  readonly log: Log
  /** Name of this process among those that share the store. */
  readonly instance: string
  /** HMAC-SHA-256 under the server's secret, in hex: for keys and fingerprints. */
  readonly hash: (text: string | Uint8Array) => string
  /** Absent when receipts are off. */
  readonly receipts?: Receipts
  readonly newCallId: () => string
  readonly random: () => number
  /** Payments call by call; absent where the operator has not set them up. */
  readonly x402?: X402 | undefined
  /** The running check of the books, where a server keeps it. */
  readonly books?: BooksWatch
}

export type Gateway = Parts & {
  readonly traffic: Traffic
  readonly repeats: Repeats
  readonly doors: Doors
  readonly kept: Kept
  readonly patience: Patience
  readonly guestRates: GuestRates
  readonly houseRisk: HouseRisk
  readonly faults: Faults
  /** Deployments by model id. */
  readonly deployments: Map<string, readonly Deployment[]>
}

export const createGateway = (parts: Parts): Gateway => ({
  ...parts,
  traffic: newTraffic(),
  repeats: newRepeats(),
  doors: newDoors(parts.options),
  kept: newKept(),
  patience: newPatience(parts.clock, parts.options.readerMs),
  guestRates: newGuestRates(),
  houseRisk: createHouseRisk(parts),
  faults: newFaults(),
  deployments: new Map(),
})
