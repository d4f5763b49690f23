/** From a configuration to the parts that need a database: the store, the hash under which keys are looked up. */
import { randomBytes } from 'node:crypto'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/port.ts'
import type { Config } from './config.ts'

export type Hash = (text: string | Uint8Array) => string

/** HMAC-SHA-256 in hex. */
export const hashUnder =
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
      onWait(error instanceof Error ? error.message : String(error))
    }
  }
}

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
