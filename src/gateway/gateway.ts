/** The parts a call passes through, in one record; made once by the wiring. */
import { type GuestRates, newGuestRates } from '../admission/guest-rates.ts'
import { type Kept, newKept } from '../admission/kept.ts'
import type { Assets } from '../assets/assets.ts'
import type { Book } from '../book/contract.ts'
import { storeInTouch } from '../book/touch.ts'
import type { Log } from '../core/log.ts'
import type { Clock } from '../core/time.ts'
import type { Exporting } from '../export/keep-exporting.ts'
import type { Shape } from '../media/shape.ts'
import type { Meters } from '../metrics/meters.ts'
import type { Reading, Snapshot } from '../metrics/snapshot.ts'
import type { StripePayments } from '../payment/stripe.ts'
import type { X402 } from '../payment/x402.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import { type Deployment, newTraffic, type Traffic } from '../routing/deployments.ts'
import type { CallSettings } from '../settings/calls.ts'
import type { consoleSettings } from '../settings/console.ts'
import type { ValuesOf } from '../settings/setting.ts'
import type { ShownSetting } from '../settings/shown.ts'
import type { Store } from '../store/port.ts'
import type { PublicParts } from '../transport/public-address.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { type Doors, newDoors } from './doors.ts'
import { type Faults, newFaults } from './faults.ts'
import { createHouseRisk, type HouseRisk } from './house-risk.ts'
import { type Jobs, newJobs } from './jobs.ts'
import { newPatience, type Patience } from './patience.ts'
import type { ReceiptKeys } from './receipt-keys.ts'
import { newRepeats, type Repeats } from './repeats.ts'
import type { Traces } from './spans.ts'
import type { BooksWatch } from './watch-books.ts'

/** What the operator set for answering calls: the rows of src/settings/calls.ts, read. */
export type GatewayOptions = CallSettings

export type ConsoleSettings = ValuesOf<typeof consoleSettings>

export type Receipts = {
  readonly keys: ReceiptKeys
  /** The issuer's names: new receipts carry the first in the claim `iss`; receipts under the others stay good. */
  readonly issuers: readonly [string, ...string[]]
  /** Whether every answer carries its receipt; otherwise they are issued when asked for. */
  readonly inAnswers: boolean
}

/** Several processes on a port that tell one answer. */
export type MetricsTogether = {
  /** How this one tells its own part. */
  tells(read: () => Snapshot): void
  /** Rejects when the others cannot be asked. */
  all(): Promise<Snapshot>
}

/** How what was counted is told. */
export type MetricsDoor = {
  /** Of the token that opens it at the address of calls; undefined where it is told at a port of its own. */
  readonly tokenHash: string | undefined
  /** What only the process itself knows, read when somebody asks. */
  readonly ofProcess: () => readonly Reading[]
  /** One answer for all processes on the port; absent where this one is alone. */
  readonly together?: MetricsTogether | undefined
}

/** The operator's setup as the console shows it. */
export type Setup = {
  readonly settings: readonly ShownSetting[]
  /** Factors of prices, and the models whose prices the operator gave. */
  readonly markup: string
  readonly discount: string
  readonly overridden: readonly string[]
  /** Vendors that are off, with the variable that turns each on. */
  readonly off: readonly { readonly id: string; readonly variable: string }[]
  /** The journal's folder; absent where there is none. */
  readonly journal?: string | undefined
}

export type GatewayParts = {
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
  /** Where the results of products that are not chat are kept; without it none is sold. */
  readonly assets?: Assets
  /** What the operator set for the console; absent where there is none. */
  readonly console?: ConsoleSettings | undefined
  /** How webhooks of callers are sent; by the public network when absent. */
  readonly webhooks?: PublicParts
  /** The address that callers know this server by; absent where it is the one that they asked. */
  readonly publicUrl?: string | undefined
  /** What the operator set, to look at; absent where nobody passes it. */
  readonly setup?: Setup | undefined
  /** The running check of the books, where a server keeps it. */
  readonly books?: BooksWatch
  /** What is counted for GET /metrics; absent where METRICS is off. */
  readonly meters?: Meters | undefined
  readonly metrics?: MetricsDoor | undefined
  /** How the export of calls stands, where there is one. */
  readonly exporting?: Exporting | undefined
  /** Where traces of calls go. */
  readonly traces?: Traces | undefined
}

export type Gateway = GatewayParts & {
  readonly traffic: Traffic
  readonly repeats: Repeats
  readonly doors: Doors
  readonly kept: Kept
  readonly patience: Patience
  readonly guestRates: GuestRates
  readonly houseRisk: HouseRisk
  readonly faults: Faults
  /** How products that are not chat are asked, by model id. */
  readonly media: ReadonlyMap<string, Shape>
  readonly jobs: Jobs
  /** Deployments by model id. */
  readonly deployments: Map<string, readonly Deployment[]>
}

const shapesOf = (vendors: GatewayParts['vendors']): ReadonlyMap<string, Shape> =>
  new Map(
    [...vendors.values()].flatMap(({ vendor }) =>
      (vendor.media?.models ?? []).map(({ name, shape }): [string, Shape] => [`${vendor.id}/${name}`, shape]),
    ),
  )

export const createGateway = (parts: GatewayParts): Gateway => ({
  ...parts,
  store: storeInTouch(parts.store, parts.book),
  traffic: newTraffic(),
  repeats: newRepeats(),
  doors: newDoors(parts.options),
  kept: newKept(),
  patience: newPatience(parts.clock, parts.options.readerMs),
  guestRates: newGuestRates(),
  houseRisk: createHouseRisk(parts),
  faults: newFaults(),
  media: shapesOf(parts.vendors),
  jobs: newJobs(),
  deployments: new Map(),
})
