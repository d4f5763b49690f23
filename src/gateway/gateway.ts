/** The parts a call passes through, in one record; made once by the wiring. */
import type { Book } from '../book/words.ts'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import { newTraffic, type Traffic } from '../routing/deployments.ts'
import type { Store } from '../store/port.ts'
import type { Timeouts } from '../transport/exchange.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { newRepeats, type Repeats } from './repeats.ts'

export type GatewayOptions = {
  /** What one credit is worth, in nano-USD. Presentation only. */
  readonly creditNano: Nano
  /** Requests per minute of a key without an `rpm_limit`. */
  readonly planRpm: number
  readonly bodyBytesMax: number
  readonly timeouts: Timeouts
  readonly openCallsMax: number
}

export type Parts = {
  readonly store: Store
  readonly book: Book
  readonly catalogue: Catalogue
  readonly vendors: ReadonlyMap<string, VendorSetup>
  readonly options: GatewayOptions
  readonly clock: Clock
  readonly log: Log
  /** Name of this process among those that share the store. */
  readonly instance: string
  /** HMAC-SHA-256 under the server's secret, in hex: for keys and fingerprints. */
  readonly hash: (text: string | Uint8Array) => string
  readonly newCallId: () => string
  readonly random: () => number
}

export type Gateway = Parts & {
  readonly traffic: Traffic
  readonly repeats: Repeats
}

export const createGateway = (parts: Parts): Gateway => ({
  ...parts,
  traffic: newTraffic(),
  repeats: newRepeats(),
})
