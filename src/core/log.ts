/**
 * The log: one JSON line per event, with known fields only. A field that is not on the list cannot be logged, so
 * neither keys nor content reach the log by accident.
 */
import { messageOf } from './message-of.ts'
import type { Nano } from './money.ts'

/** Every field that a line may have; amounts are in nano-USD. */
type Fields = {
  readonly call?: string | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly key?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly guardrails?: Readonly<Record<string, string>> | undefined
  readonly model?: string | undefined
  readonly equal?: string | undefined
  readonly vendor?: string | undefined
  readonly status?: number | undefined
  readonly stage?: string | undefined
  readonly ended?: string | undefined
  readonly attempts?: number | undefined
  readonly input_tokens?: number | undefined
  readonly output_tokens?: number | undefined
  readonly charged?: Nano | undefined
  readonly excess?: Nano | undefined
  readonly first_byte_ms?: number | undefined
  readonly took_ms?: number | undefined
  readonly ops?: number | undefined
  readonly kind?: string | undefined
  readonly recovered?: number | undefined
  readonly key_changes?: number | undefined
  readonly settings?: number | undefined
  readonly torn?: number | undefined
  readonly instance?: string | undefined
  readonly payment?: string | undefined
  readonly network?: string | undefined
  readonly outcome?: string | undefined
  readonly setting?: string | undefined
  readonly error?: string | undefined
}

export type Log = {
  /** One line for each call. */
  call(fields: Fields): void
  info(event: string, fields?: Fields): void
  warn(event: string, fields?: Fields): void
  error(event: string, fields?: Fields): void
}

/** Tells of a failure that nobody else hears of. */
export const warning =
  (log: Log, event: string, fields: Fields = {}) =>
  (error: unknown): void =>
    log.warn(event, { ...fields, error: messageOf(error) })

type LogLevel = 'call' | 'info' | 'warn' | 'error' | 'off'

const order: readonly LogLevel[] = ['call', 'info', 'warn', 'error', 'off']

/** Makes a log that passes finished lines to `write`; lines below `level` are never built. */
export const createLog = (level: LogLevel, now: () => number, write: (line: string) => void): Log => {
  const line = (at: LogLevel, event: string, fields: Fields | undefined): void => {
    if (order.indexOf(at) < order.indexOf(level)) return
    write(JSON.stringify({ at: new Date(now()).toISOString(), level: at, event, ...fields }, plain))
  }
  return {
    call: (fields) => line('call', 'call', fields),
    info: (event, fields) => line('info', event, fields),
    warn: (event, fields) => line('warn', event, fields),
    error: (event, fields) => line('error', event, fields),
  }
}

const plain = (_name: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 10) / 10 : value
}

export const silentLog: Log = createLog(
  'off',
  () => 0,
  () => undefined,
)
