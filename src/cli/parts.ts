/** From a configuration to parts of a server: the store, the hash under which keys are looked up, the journal, Stripe, x402. */
import { randomBytes } from 'node:crypto'
import { createJournal, type Journal } from '../book/journal.ts'
import { openJournalFolder } from '../book/journal-folder.ts'
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { systemClock } from '../core/time.ts'
import { openStripe, type StripePayments } from '../payment/stripe.ts'
import { openX402, type X402, type X402Parts } from '../payment/x402.ts'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/port.ts'
import type { Config } from './config.ts'

export type Hash = (text: string | Uint8Array) => string

/** HMAC-SHA-256 in hex. */
const hashUnder =
  (secret: string): Hash =>
  (text) =>
    new Bun.CryptoHasher('sha256', secret).update(text).digest('hex')

/** The hash for keys: under TURNPIKE_SECRET, else under a secret made once per database. */
export const openHash = async (store: Store, config: Config): Promise<Hash> =>
  hashUnder(config.secret ?? (await store.setting('key_secret', () => randomBytes(32).toString('hex'))))

export const openStoreOf = (config: Config): Promise<Store> => openStore({ url: config.databaseUrl })

const START_WAIT_MS = 30_000

/** The same, for a server that may start before its database does: a PostgreSQL that is not there yet is waited for. */
export const awaitStore = async (config: Config, onWait: (error: string) => void): Promise<Store> => {
  for (const until = performance.now() + START_WAIT_MS; ; await Bun.sleep(500)) {
    try {
      return await openStoreOf(config)
    } catch (error) {
      if (config.databaseUrl.startsWith('sqlite:') || performance.now() > until) throw error
      onWait(messageOf(error))
    }
  }
}

/** The journal of the settings. A folder that cannot be written costs waiting in an outage and no money, so it is no reason not to serve. */
export const openJournal = async (
  store: Store,
  config: Config,
  it: { readonly instance: string; readonly log: Log },
): Promise<Journal | undefined> => {
  if (config.journal === undefined) return undefined
  try {
    const folder = await openJournalFolder(config.journal)
    const ledger = await store.setting('ledger_id', () => Bun.randomUUIDv7())
    return createJournal({ folder, ledger, ...it })
  } catch (error) {
    it.log.error('no journal: set JOURNAL to a folder that can be written, or to off', {
      error: messageOf(error),
    })
    return undefined
  }
}

/** Payments by Stripe, where the settings have it. */
export const stripeFor = async (
  { stripe: settings }: Config,
  store: Store,
  log: Log,
): Promise<StripePayments | undefined> =>
  settings === undefined ? undefined : openStripe({ settings, store, log, newId: () => Bun.randomUUIDv7() })

/** Payments call by call, where turnpike.yaml sets them up. */
export const x402For = async (
  { x402: options }: Config,
  parts: Omit<X402Parts, 'clock' | 'options'>,
): Promise<X402 | undefined> =>
  options === undefined ? undefined : openX402({ ...parts, clock: systemClock, options })

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const TOKEN_LETTERS = 43

/** A new key: 256 bits of randomness. Bytes that would favour some letters are drawn again. */
export const newToken = (): string => {
  let token = ''
  while (token.length < TOKEN_LETTERS)
    for (const byte of randomBytes(64))
      if (byte < 248 && token.length < TOKEN_LETTERS) token += LETTERS[byte % 62]
  return `sk-${token}`
}

/** What is kept of a token for people to recognise it by. */
export const prefixOf = (token: string): string => token.slice(0, 10)

export const newId = (kind: 'key' | 'wal'): string => `${kind}_${Bun.randomUUIDv7().replaceAll('-', '')}`
