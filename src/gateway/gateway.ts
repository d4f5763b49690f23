/** The parts a call passes through, in one record; made by the wiring, and again when what is sold changes. */
import { type GuestRates, newGuestRates } from '../admission/guest-rates.ts'
import { type Kept, newKept } from '../admission/kept.ts'
import type { Assets } from '../assets/assets.ts'
import type { Book } from '../book/contract.ts'
import { storeInTouch } from '../book/touch.ts'
import type { KeyedHash } from '../core/keyed-hash.ts'
import type { Log } from '../core/log.ts'
import type { Model } from '../core/model.ts'
import type { Clock, Instant } from '../core/time.ts'
import type { Exporting } from '../export/keep-exporting.ts'
import type { Shape } from '../media/shape.ts'
import type { Meters } from '../metrics/meters.ts'
import type { Reading, Snapshot } from '../metrics/snapshot.ts'
import type { StripePayments } from '../payment/stripe.ts'
import type { X402 } from '../payment/x402.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import { type Deployment, newTraffic, type Traffic, trafficAfter } from '../routing/deployments.ts'
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

/** What came of reading the configuration again. */
export type Reloaded = {
  /** `checked`: it can be used, and was only looked at. */
  readonly outcome: 'applied' | 'checked' | 'refused'
  /** What is wrong with it, a line for each; then nothing has changed. */
  readonly errors: readonly string[]
  /** What is sold otherwise than before, a line for each. */
  readonly changes: readonly string[]
  /** What was changed and is only read at a start. */
  readonly needsRestart: readonly string[]
}

/** How the configuration of a process stands. */
export type ConfigStatus = {
  /** Two processes with the same one sell the same. */
  readonly version: string
  readonly appliedAt: Instant
  readonly reloads: number
  /** The newest configuration, where it could not be used: the one before it serves. */
  readonly refused?: { readonly at: Instant; readonly errors: readonly string[] } | undefined
  readonly needsRestart: readonly string[]
}

/** `check` looks at the configuration, `apply` sells it too. */
export type ConfigAsk = 'status' | 'check' | 'apply'

/** What one process tells of its configuration; `reloaded` where it was asked to read it. */
export type ConfigTold = {
  readonly process: string
  readonly status: ConfigStatus
  readonly reloaded?: Reloaded | undefined
}

/** How the configuration is read again while the server runs. */
export type ConfigDoor = {
  /** Of this process. */
  status(): ConfigStatus
  /** Of all processes on the port. Rejects when they do not answer. */
  ask(what: ConfigAsk): Promise<readonly ConfigTold[]>
  /** What is only read at a start, by its name: a fingerprint of each value. */
  readonly settings: Readonly<Record<string, string>>
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
  readonly hash: KeyedHash
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
  /** How the configuration is read again; absent where nothing can change. */
  readonly config?: ConfigDoor | undefined
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
  /** By the model at its price: another one comes with another price. */
  readonly deployments: WeakMap<Model, readonly Deployment[]>
}

/** What a reload changes: all of it at once, as another gateway. */
export type Sold = Pick<GatewayParts, 'catalogue' | 'vendors' | 'failover' | 'setup'>

/**
 * The gateway of now. Whoever begins a call reads it once and keeps what it read to the call's end, so that no call is
 * priced or sent by a mixture.
 */
export type Present = { readonly gateway: Gateway }

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
  deployments: new WeakMap(),
})

/** The same gateway with other things to sell; calls that run go on with the one that they began with. */
export const selling = (gateway: Gateway, sold: Sold): Gateway => ({
  ...gateway,
  ...sold,
  traffic: trafficAfter(gateway, sold.vendors),
  media: shapesOf(sold.vendors),
  deployments: new WeakMap(),
})
