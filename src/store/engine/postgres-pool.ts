/**
 * Connections to PostgreSQL: to the one of several hosts that may be used, straight or through a pooler. A pooler such as
 * pgBouncer gives each transaction another connection, so nothing outlasts a transaction there: settings are made
 * anew in each, and no statement stays prepared.
 */
import { type ReservedSQL, SQL } from 'bun'
import { messageOf } from '../../core/message-of.ts'
import type { Statement } from './engine.ts'
import type { PostgresAddress, PostgresHost } from './postgres-address.ts'

/** No statement may run longer than this, or the server stops it. */
const STATEMENT_MS = 3_000
/** A connection that silently dies in the middle of a transaction keeps its locks no longer than this. */
const ABANDONED_MS = 2_000

/** The first question of a connection is a short one. */
const LOOK_MS = 1_000

/** Marks a connection that got our settings: PostgreSQL keeps it, a pooler refuses it or leaves it out. */
const MARK = 'turnpike.direct'
const ASK = `select coalesce(current_setting('${MARK}', true), '') as mark,
  pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as reads_only`
/** How poolers refuse a setting that they do not know: as a violation of the protocol, or a missing feature. */
const UNKNOWN_SETTING = /^(08P01|0A000)$/
/** The server is lost, ends, or takes no writes any more. */
const GONE = /^($|08|57P|25006)/

export const stateOf = (error: unknown): string =>
  error instanceof SQL.PostgresError && typeof error.errno === 'string' ? error.errno : ''

type Settings = Readonly<Record<string, string>>

/** A host that may be used. */
type Place = {
  readonly host: PostgresHost
  /** Whether settings of a connection last no longer than a transaction. */
  readonly pooled: boolean
}

/** Where connections go, which all pools of an engine agree on. */
type Places = {
  readonly address: PostgresAddress
  readonly current: () => Promise<Place>
  /** That place does not answer as it should; it is looked for anew. */
  readonly lost: (place: Place) => void
}

/** Waits for `work` but not longer than `ms`; after that the caller must drop the connection. */
const within = async <T>(ms: number, work: Promise<T>, late: () => void): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late()
      reject(new Error(`the database did not answer within ${ms} ms`))
    }, ms)
  })
  try {
    return await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}

const driverOf = ({ tls, connectSeconds }: PostgresAddress, { url }: PostgresHost) => ({
  url,
  ...(tls === undefined ? {} : { tls }),
  bigint: true,
  idleTimeout: 0,
  maxLifetime: 0,
  connectionTimeout: connectSeconds,
})

/** Connects once and looks. Rejects if the host does not answer or may not be used. */
const look = async (address: PostgresAddress, host: PostgresHost): Promise<Place> => {
  const ask = async (connection: Settings) => {
    const sql = new SQL({ ...driverOf(address, host), max: 1, prepare: false, connection })
    const close = () => void sql.close({ timeout: 0 }).catch(() => undefined)
    return within(address.connectSeconds * 1000 + LOOK_MS, sql.unsafe(ASK), close).finally(close)
  }
  const [found] = await ask({ [MARK]: 'on' }).catch((error: unknown) => {
    if (UNKNOWN_SETTING.test(stateOf(error))) return ask({})
    throw error
  })
  if (address.mustWrite && found.reads_only === true)
    throw new Error('it takes no writes, as a standby; target_session_attrs asks for one that does')
  return { host, pooled: found.mark !== 'on' }
}

/** Of several hosts none may be used: what each of them answered, in order. */
export class HostsFail extends AggregateError {
  readonly hosts: readonly string[]

  constructor(hosts: readonly PostgresHost[], errors: readonly unknown[]) {
    const shown = hosts.map((host) => host.shown)
    super(errors, shown.map((host, at) => `${host}: ${messageOf(errors[at])}`).join('; '))
    this.hosts = shown
  }
}

/** All hosts are asked at once, and the first that fits is used. Rejects with HostsFail, or what the only host answered. */
const choose = async (address: PostgresAddress): Promise<Place> => {
  const { hosts } = address
  if (hosts.length === 1) return look(address, hosts[0])
  return Promise.any(hosts.map((host) => look(address, host))).catch((error: unknown) => {
    throw error instanceof AggregateError ? new HostsFail(hosts, error.errors) : error
  })
}

export const placesOf = (address: PostgresAddress): Places => {
  let chosen: Promise<Place> | undefined
  let known: Place | undefined
  return {
    address,
    current: () => {
      chosen ??= choose(address).then(
        (place) => {
          known = place
          return place
        },
        (error: unknown) => {
          chosen = undefined
          throw error
        },
      )
      return chosen
    },
    lost: (place) => {
      if (place === known) chosen = known = undefined
    },
  }
}

/** `first` is to follow each `begin`: settings that last no longer than the transaction. */
type Work<T> = (connection: ReservedSQL, first: readonly Statement[]) => Promise<T>

export type Pool = {
  readonly use: <T>(work: Work<T>, ms?: number) => Promise<T>
  readonly close: () => Promise<void>
}

type Opened = { readonly place: Place; readonly sql: SQL; readonly first: readonly Statement[] }

const connectTo = (places: Places, place: Place, max: number, own: Settings): Opened => {
  const settings: Settings = {
    statement_timeout: `${STATEMENT_MS}`,
    idle_in_transaction_session_timeout: `${ABANDONED_MS}`,
    jit: 'off',
    ...own,
  }
  const names = Object.keys(settings)
  const made = names.map((name, at) => `set_config('${name}', $${at + 1}, true)`)
  const name = { application_name: 'turnpike' }
  const connection = place.pooled
    ? name
    : { ...name, [MARK]: 'on', tcp_user_timeout: `${ABANDONED_MS}`, ...settings }
  const sql = new SQL({ ...driverOf(places.address, place.host), max, prepare: !place.pooled, connection })
  const first = place.pooled ? [{ text: `select ${made.join(', ')}`, params: Object.values(settings) }] : []
  return { place, sql, first }
}

/**
 * A few connections with the same settings. No transaction may take longer than a connection and a statement together,
 * or `longestMs`: that covers a server or network that says nothing at all. After a missed deadline all connections are
 * dropped and made again.
 */
export const openPool = (places: Places, max: number, settings: Settings, longestMs?: number): Pool => {
  const givenUpMs = longestMs ?? places.address.connectSeconds * 1000 + STATEMENT_MS
  const several = places.address.hosts.length > 1
  let opened: Opened | undefined
  let opening: Promise<Opened> | undefined
  const open = (): Promise<Opened> => {
    opening ??= places
      .current()
      .then((place) => {
        opened = connectTo(places, place, max, settings)
        return opened
      })
      .finally(() => {
        opening = undefined
      })
    return opening
  }
  const leave = (dead: Opened, timeout: number): void => {
    if (opened === dead) opened = undefined
    places.lost(dead.place)
    dead.sql.close({ timeout }).catch(() => undefined)
  }
  /** Of several hosts another one may do better. A single one is reached again by the driver, unless a pooler came. */
  const isLost = (error: unknown): boolean =>
    error instanceof SQL.PostgresError && (several ? GONE : UNKNOWN_SETTING).test(stateOf(error))
  return {
    use: (work, ms = givenUpMs) => {
      let mine = opened
      const run = async () => {
        mine ??= await open()
        const { sql, first } = mine
        try {
          const connection = await sql.reserve()
          try {
            return await work(connection, first)
          } finally {
            connection.release()
          }
        } catch (error) {
          if (isLost(error)) leave(mine, STATEMENT_MS / 1000)
          throw error
        }
      }
      return within(ms, run(), () => mine && leave(mine, 0))
    },
    close: async () => {
      await (opened ?? (await opening?.catch(() => undefined)))?.sql.close({ timeout: 1 })
    },
  }
}
