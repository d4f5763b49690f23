/**
 * How the memory of a process is divided among what callers and vendors can fill. Where it does not suffice for the
 * defaults of their bounds, these become smaller; what an operator sets stays.
 */
import type { Environment } from './bad-setting.ts'
import { callSettings } from './calls.ts'

/** What a process needs for itself, with small calls. Measured: docs/operations.md. */
const OWN_BYTES = 120 * 1024 * 1024
/** Measured: the memory that the machine gives for each byte we count, until what was freed comes back. */
const REAL_PER_COUNTED = 2.5
/** Measured: an open call with its two connections, beside its bodies. */
const CALL_BYTES = 43_000
/** A body counts once as it came and about once more when it is parsed, and one key has half of all bytes by default. */
const BODIES = 4

/** Less than this serves nobody. */
const LEAST = { bytes: 1_000_000, body: 250_000, calls: 64, sockets: 4 }

const bounds = (bytes: number) => {
  const room = Math.max(0, bytes - OWN_BYTES)
  // Two thirds for bodies, answers and recordings; the rest in halves for open calls and messages of sockets.
  const buffers = Math.max(LEAST.bytes, (room * 2) / 3 / REAL_PER_COUNTED)
  const each = room / 6
  return [
    [callSettings.bufferBytesMax, buffers],
    [callSettings.bodyBytesMax, Math.max(LEAST.body, buffers / BODIES)],
    [callSettings.openCallsMax, Math.max(LEAST.calls, each / CALL_BYTES)],
    [callSettings.socketsMax, Math.max(LEAST.sockets, each / Number(callSettings.socketBytesMax.fallback))],
  ] as const
}

/**
 * The bounds, by variable, whose defaults are too large for a process with so many bytes of memory and which this
 * environment does not set.
 */
export const boundsWithin = (bytes: number, environment: Environment): Readonly<Record<string, string>> =>
  Object.fromEntries(
    bounds(bytes).flatMap(([{ name, fallback }, most]) =>
      (environment[name] ?? '') === '' && most < Number(fallback) ? [[name, String(Math.floor(most))]] : [],
    ),
  )
