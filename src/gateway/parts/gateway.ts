/**
 * The parts that a call passes through, in one record. The wiring builds it, and builds it again when the catalogue
 * changes.
 */
import { type GuestRates, newGuestRates } from '../../admission/guest-rates.ts'
import { type KeptBytes, newKeptBytes } from '../../admission/kept.ts'
import type { Assets } from '../../assets/assets.ts'
import type { Book } from '../../book/contract.ts'
import { storeInTouch } from '../../book/touch.ts'
import type { OtherCells } from '../../cells/wrong-cell.ts'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { Log } from '../../core/log.ts'
import type { Model } from '../../core/model.ts'
import type { Clock, Instant } from '../../core/time.ts'
import type { Exporting } from '../../export/keep-exporting.ts'
import type { Shape } from '../../media/shape.ts'
import type { Meters } from '../../metrics/meters.ts'
import type { Reading, Snapshot } from '../../metrics/snapshot.ts'
import type { StripePayments } from '../../payment/stripe.ts'
import type { X402 } from '../../payment/x402.ts'
import type { Catalogue } from '../../pricing/catalogue.ts'
import { type Deployment, newTraffic, type Traffic, trafficAfter } from '../../routing/deployments.ts'
import type { CallSettings } from '../../settings/calls.ts'
import type { Company } from '../../settings/companies.ts'
import type { consoleSettings } from '../../settings/console.ts'
import type { ValuesOf } from '../../settings/setting.ts'
import type { ShownSetting } from '../../settings/shown.ts'
import type { Store } from '../../store/port.ts'
import { newOwnKeyRing, type OwnKeyRing } from '../../transport/own-key-ring.ts'
import type { PublicParts } from '../../transport/public-address.ts'
import { VendorSockets } from '../../transport/vendor-sockets.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { type Capacity, newCapacity } from './capacity.ts'
import { type Failures, newFailures } from './failures.ts'
import { type Faults, newFaults } from './faults.ts'
import { createHouseRisk, type HouseRisk } from './house-risk.ts'
import { type Jobs, newJobs } from './jobs.ts'
import { newPatience, type Patience } from './patience.ts'
import type { ReceiptKeys } from './receipt-keys.ts'
import { newRepeats, type Repeats } from './repeats.ts'
import type { Traces } from './spans.ts'
import type { BooksWatch } from './watch-books.ts'
import type { HouseWatch } from './watch-house.ts'
import type { ReplicaWatch, StandbyWatch } from './watch-standby.ts'

/** What the operator set for answering calls: the parsed rows of src/settings/calls.ts. */
export type GatewayOptions = CallSettings

export type ConsoleSettings = ValuesOf<typeof consoleSettings> & {
  /** Those of turnpike.yaml. */
  readonly companies?: readonly Company[]
}

export type Receipts = {
  readonly keys: ReceiptKeys
  /** The issuer's names: new receipts carry the first as the claim `iss`; receipts under the others stay valid. */
  readonly issuers: readonly [string, ...string[]]
  /** Whether every answer carries its receipt; if not, receipts are issued on request. */
  readonly inAnswers: boolean
}

/** Several processes on one port that answer as one. */
export type SharedMetrics = {
  /** Registers how this process reads its own figures; what it returns is called when the process ends. */
  register(read: () => Snapshot): () => void
  /** Rejects when the others cannot be asked. */
  all(): Promise<Snapshot>
}

/** How the metrics are served. */
export type MetricsAccess = {
  /** The hash of the token that opens them at the address of calls; undefined when they have a port of their own. */
  readonly tokenHash: string | undefined
  /** Figures that only this process knows, read on request. */
  readonly ofProcess: () => readonly Reading[]
  /** One answer for all processes on the port; absent when this one is alone. */
  readonly together?: SharedMetrics | undefined
}

/** The outcome of reading the configuration again. */
export type Reloaded = {
  /** `checked`: it is valid, but was not applied. */
  readonly outcome: 'applied' | 'checked' | 'refused'
  /** What is wrong with it, one line each; in that case nothing has changed. */
  readonly errors: readonly string[]
  /** What changes in the catalogue, one line each. */
  readonly changes: readonly string[]
  /** Changed settings that are only read at a start. */
  readonly needsRestart: readonly string[]
}

/** The state of a process's configuration. */
export type ConfigStatus = {
  /** Processes with the same fingerprint sell the same. */
  readonly version: string
  readonly appliedAt: Instant
  readonly reloads: number
  /** The newest configuration, if it could not be used; the one before it is still serving. */
  readonly refused?: { readonly at: Instant; readonly errors: readonly string[] } | undefined
  readonly needsRestart: readonly string[]
}

/** `check` only validates the configuration; `apply` also puts it to use. */
export type ConfigAction = 'status' | 'check' | 'apply'

/** One process's report on its configuration; with `reloaded` if it was asked to read it again. */
export type ConfigReport = {
  readonly process: string
  readonly status: ConfigStatus
  readonly reloaded?: Reloaded | undefined
}

/** How the configuration is read again while the server runs. */
export type ConfigControl = {
  /** For this process. */
  status(): ConfigStatus
  /** For all processes on the port. Rejects when they do not answer. */
  ask(action: ConfigAction): Promise<readonly ConfigReport[]>
  /** Settings that are only read at a start: the fingerprint of each value, by name. */
  readonly settings: Readonly<Record<string, string>>
  /** Absent if none are kept. */
  readonly keys?: VendorKeys | undefined
}

/** Keys of vendors that are added while the server runs; they count once the configuration is read again. */
export type VendorKeys = {
  /** A vendor that is off as it would be with a key; undefined if there is none, or it needs more than that. */
  offSetup(id: string): VendorSetup | undefined
  /** The last four letters of those of a variable. */
  added(variable: string): readonly string[]
  add(variable: string, key: string): void
  /** Removes those that end so, and tells them. */
  remove(variable: string, end: string): readonly string[]
}

/** The operator's setup as the console shows it. */
export type Setup = {
  readonly settings: readonly ShownSetting[]
  /** Price factors, and the models whose prices the operator set. */
  readonly markup: string
  readonly discount: string
  readonly overridden: readonly string[]
  /** Vendors that are off, each with the variable that turns it on. */
  readonly off: readonly { readonly id: string; readonly variable: string }[]
  /** The journal's folder, if there is one. */
  readonly journal?: string | undefined
}

/** What the operator's configuration says is sold. A reload changes all of it at once, as a new gateway. */
export type Offering = {
  readonly catalogue: Catalogue
  readonly vendors: ReadonlyMap<string, VendorSetup>
  /** Equal models at other vendors, by model id; asked in this order when its own vendor fails. */
  readonly failover: ReadonlyMap<string, readonly string[]>
  /** The operator's settings, for display; absent when nobody passes them. */
  readonly setup?: Setup | undefined
}

/** What is sold, and what follows from it. */
export type LiveOffering = Offering & {
  readonly traffic: Traffic
  /** How to ask for products that are not chat, by model id. */
  readonly media: ReadonlyMap<string, Shape>
  /** By the model with its price: a new price makes a new entry. */
  readonly deployments: WeakMap<Model, readonly Deployment[]>
}

/** The ways to pay that the operator has set up. */
type Payments = {
  readonly stripe?: StripePayments | undefined
  /** Payments call by call. */
  readonly x402?: X402 | undefined
}

/** What the operator sees of the running server. */
export type Watch = {
  /** The figures for GET /metrics; absent when METRICS is off. */
  readonly meters?: Meters | undefined
  readonly metrics?: MetricsAccess | undefined
  /** Where traces of calls are sent. */
  readonly traces?: Traces | undefined
  /** The state of the export of calls, if there is one. */
  readonly exporting?: Exporting | undefined
  /** The running check of the books, if this server does it. */
  readonly books?: BooksWatch | undefined
  /** The running check of the ledger's standby, if there must be one. */
  readonly standby?: StandbyWatch | undefined
  /** The running check of the replica that answers reports, if there is one. */
  readonly replica?: ReplicaWatch | undefined
  /** What other cells say of where organisations are, if this server knows them. */
  readonly cells?: StandbyWatch | undefined
  /** What trials got and when a backup was made, if this server looks. */
  readonly house?: HouseWatch | undefined
  /** Whether the log of receipts goes on from what was shown, if this server adds to it. */
  readonly log?: Pick<StandbyWatch, 'trouble'> | undefined
}

/** What this process knows of its callers beyond one call; other processes know their own. */
type Memory = {
  readonly repeats: Repeats
  readonly jobs: Jobs
  /** Kept for repeats, by key and by wallet. */
  readonly kept: KeptBytes
  readonly keptOfWallets: KeptBytes
  readonly patience: Patience
  readonly guestRates: GuestRates
  readonly houseRisk: HouseRisk
  readonly faults: Faults
  readonly failures: Failures
  /** Those on which vendors are asked for the turns of clients' sockets. */
  readonly vendorSockets: VendorSockets
}

export type GatewayParts = {
  readonly store: Store
  readonly book: Book
  readonly offering: Offering
  readonly payments: Payments
  readonly watch: Watch
  readonly options: GatewayOptions
  readonly clock: Clock
  readonly log: Log
  /** Name of this process among those that share the store. */
  readonly instance: string
  /** HMAC-SHA-256 under the server's secret, in hex: for keys and fingerprints. */
  readonly hash: KeyedHash
  /** Absent when receipts are off. */
  readonly receipts?: Receipts
  readonly random: () => number
  /** Where results other than chat are kept; without it no such product is sold. */
  readonly assets?: Assets
  /** What the operator set for the console, if there is one. */
  readonly console?: ConsoleSettings | undefined
  /** Where the other cells are, if this server knows. */
  readonly cells?: OtherCells | undefined
  /** How callers' webhooks are sent; over the public network when absent. */
  readonly webhooks?: PublicParts
  /** The public address of this server; when absent, the address of the request is used. */
  readonly publicUrl?: string | undefined
  /** How the configuration is read again; absent when nothing can change. */
  readonly config?: ConfigControl | undefined
}

/** What handlers get, by subject. */
export type Gateway = GatewayParts & {
  readonly offering: LiveOffering
  readonly capacity: Capacity
  readonly memory: Memory
  /** Opens the keys that organisations have at vendors themselves. */
  readonly ownKeys: OwnKeyRing
}

/**
 * The current gateway. Each call reads it once, at its beginning, and uses that to its end, so that no call is priced
 * or sent by a mixture of two configurations.
 */
export type Present = { readonly gateway: Gateway }

const shapesOf = (vendors: Offering['vendors']): ReadonlyMap<string, Shape> =>
  new Map(
    [...vendors.values()].flatMap(({ vendor }) =>
      (vendor.media?.models ?? []).map(({ name, shape }): [string, Shape] => [`${vendor.id}/${name}`, shape]),
    ),
  )

const liveOfferingOf = (offering: Offering, traffic: Traffic): LiveOffering => ({
  ...offering,
  traffic,
  media: shapesOf(offering.vendors),
  deployments: new WeakMap(),
})

export const createGateway = (parts: GatewayParts): Gateway => ({
  ...parts,
  store: storeInTouch(parts.store, parts.book),
  offering: liveOfferingOf(parts.offering, newTraffic()),
  capacity: newCapacity(parts.options),
  ownKeys: newOwnKeyRing({ ...parts, store: parts.store.ownKeys, settings: parts.options.ownKeys }),
  memory: {
    repeats: newRepeats(),
    jobs: newJobs(),
    kept: newKeptBytes(),
    keptOfWallets: newKeptBytes(),
    patience: newPatience(parts.clock, parts.options.readerMs),
    guestRates: newGuestRates(),
    houseRisk: createHouseRisk(parts),
    faults: newFaults(),
    failures: newFailures(parts),
    vendorSockets: new VendorSockets(),
  },
})

/** The same gateway with another catalogue; running calls keep the one they began with. */
export const withOffering = (gateway: Gateway, offering: Offering): Gateway => ({
  ...gateway,
  offering: liveOfferingOf(offering, trafficAfter(gateway.offering, offering.vendors)),
})
