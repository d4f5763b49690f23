/** From a configuration to the parts of a server: the store, the hash that finds keys, the journal, Stripe, x402. */
import { randomBytes } from 'node:crypto'
import { createOutbox, type Outbox } from '../../book/outbox.ts'
import { openOutboxFolder } from '../../book/outbox-folder.ts'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { openStripe, type StripePayments } from '../../payment/stripe.ts'
import { openStore } from '../../store/open-store.ts'
import type { Store } from '../../store/port.ts'
import type { Config } from './config.ts'
import { mayPass, whyNotOpen } from './database-place.ts'

export type KeyHash = KeyedHash

const ID = 16

/** HMAC-SHA-256 in hex. */
const hashUnder = (secret: string, before?: KeyHash): KeyHash => {
  const hash = (text: string | Uint8Array): string =>
    new Bun.CryptoHasher('sha256', secret).update(text).digest('hex')
  const id = hash('turnpike: which secret this is').slice(0, ID)
  return Object.assign(hash, before === undefined ? { id } : { id, before })
}

/** Identifies the operator's secret without revealing it; undefined if none is set. */
export const secretProof = ({ secret }: Pick<Config, 'secret'>): string | undefined =>
  secret && hashUnder(secret.reveal())('turnpike backup')

/** The hash for keys under TURNPIKE_SECRET, which needs no database; undefined if the database has the secret. */
export const hashOfSettings = ({ secret }: Config): KeyHash | undefined =>
  secret === undefined ? undefined : hashUnder(secret.reveal())

/**
 * The hash for keys: under TURNPIKE_SECRET, else under a secret that each database gets once; and under
 * TURNPIKE_SECRET_OLD while that is set.
 */
export const openHash = async (store: Store, { secret, secretOld }: Config): Promise<KeyHash> => {
  const ofDatabase = () => store.setting('key_secret', () => randomBytes(32).toString('hex'))
  const other = secretOld?.reveal()
  return hashUnder(
    secret?.reveal() ?? (await ofDatabase()),
    other === undefined ? undefined : hashUnder(other === OF_DATABASE ? await ofDatabase() : other),
  )
}

/** In place of TURNPIKE_SECRET_OLD: the database's own secret, if no other was set before. */
const OF_DATABASE = 'database'

export const openStoreOf = ({ databaseUrl, replicaUrl, replicaLagMs }: Config): Promise<Store> =>
  openStore(
    { url: databaseUrl },
    replicaUrl === undefined ? undefined : { url: replicaUrl, lagMs: replicaLagMs },
  )

const START_WAIT_MS = 30_000

/**
 * The same, for a server that may start before its database. It waits for a PostgreSQL that is not there yet and for a
 * SQLite file that another process holds, but not for what stays as it is. Each reason is logged once.
 */
export const awaitStore = async (config: Config, onWait: (error: string) => void): Promise<Store> => {
  let lastReason = ''
  for (const until = performance.now() + START_WAIT_MS; ; await Bun.sleep(500)) {
    try {
      return await openStoreOf(config)
    } catch (error) {
      const reason = whyNotOpen(config.databaseUrl, error)
      if (!mayPass(config.databaseUrl, error) || performance.now() > until)
        throw new Error(`the ledger cannot be opened: ${reason}`)
      if (reason !== lastReason) onWait(reason)
      lastReason = reason
    }
  }
}

/** A settlement takes one or two kilobytes, so this is room for hundreds of answers that end while the disk is full. */
const RESERVE_BYTES = 1024 * 1024

/**
 * The journal of the settings. If its folder cannot be written, calls wait during an outage but no money is lost, so
 * the server starts all the same.
 */
export const openOutbox = async (
  store: Store,
  config: Config,
  it: { readonly instance: string; readonly log: Log },
): Promise<Outbox | undefined> => {
  if (config.journal === undefined) return undefined
  try {
    const folder = await openOutboxFolder(config.journal, RESERVE_BYTES)
    const ledger = await store.setting('ledger_id', () => Bun.randomUUIDv7())
    return createOutbox({ folder, ledger, ...it })
  } catch (error) {
    it.log.error('no journal: set JOURNAL to a folder that can be written, or to off', {
      error: messageOf(error),
    })
    return undefined
  }
}

/** Payments by Stripe, if the settings have them. */
export const stripeFor = async (
  { stripe: settings }: Config,
  store: Pick<Store, 'funding'>,
  log: Log,
): Promise<StripePayments | undefined> =>
  settings === undefined ? undefined : openStripe({ settings, store: store.funding, log })

/** The token of `GET /metrics`: the one in the settings, else one that anybody with the ledger can derive. */
export const metricsToken = ({ watch }: Config, hash: KeyHash): string =>
  watch.metricsToken?.reveal() ?? hash('turnpike metrics')
