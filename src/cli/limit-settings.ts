/** Settings that bound what callers and vendors take of a process: bytes, open calls, time. */
import { type Setting, seconds, whole } from './setting.ts'

export const limitSettings = {
  REPORT_RPM: {
    name: 'REPORT_RPM',
    fallback: '60',
    meaning: 'Reports (`GET /v1/usage`) per minute that one key may ask a process for; each reads many rows.',
    check: /^[1-9]\d{0,8}$/,
    allowed: 'a number of at least 1',
  },
  BODY_BYTES_MAX: {
    name: 'BODY_BYTES_MAX',
    fallback: '20971520',
    meaning: 'Largest request body.',
    check: /^[1-9]\d{3,8}$/,
    allowed: 'a number of at least 1000',
  },
  OPEN_CALLS_MAX: {
    name: 'OPEN_CALLS_MAX',
    fallback: '5000',
    meaning: 'Calls a process has open at once; more are refused with 503.',
    check: /^[1-9]\d{0,6}$/,
    allowed: 'a number of at least 1',
  },
  OVERLOAD_MS: {
    name: 'OVERLOAD_MS',
    fallback: '250',
    meaning:
      'A process that is late by this many milliseconds with all its work, for a second, refuses part of the new calls with 503 before it works for them, until it is not late any more; 0 refuses none.',
    check: /^\d{1,5}$/,
    allowed: 'a number of milliseconds',
  },
  DISCOUNT_OPEN_MAX: {
    name: 'DISCOUNT_OPEN_MAX',
    fallback: '256',
    meaning:
      'Discounted calls (models with a trailing l) start while fewer calls than this are open in a process; they wait up to 10 s for it.',
    check: /^[1-9]\d{0,6}$/,
    allowed: 'a number of at least 1',
  },
  BUFFER_BYTES_MAX: {
    name: 'BUFFER_BYTES_MAX',
    fallback: '536870912',
    meaning:
      'Bytes that a process has in hand at once: request bodies, whole answers, recordings of streams under an `Idempotency-Key`. What does not fit is refused with 503 before it is read on.',
    check: /^[1-9]\d{6,11}$/,
    allowed: 'a number of at least 1000000',
  },
  KEPT_BYTES_MAX: {
    name: 'KEPT_BYTES_MAX',
    fallback: '1073741824',
    meaning:
      'Bytes of answers that a process keeps for repeats (`Idempotency-Key`) of one key in a day; further new calls with that header are refused with 429.',
    check: /^[1-9]\d{3,14}$/,
    allowed: 'a number of at least 1000',
  },
  KEY_SHARE_PERCENT: {
    name: 'KEY_SHARE_PERCENT',
    fallback: '50',
    meaning:
      'How much of OPEN_CALLS_MAX and BUFFER_BYTES_MAX one key may have at a process, and those together who call without one; more is refused with 429. 100 where one key stands for everybody.',
    check: /^([1-9]\d?|100)$/,
    allowed: 'a number from 1 to 100',
  },
  BODY_SECONDS: {
    name: 'BODY_SECONDS',
    fallback: '120',
    meaning: 'How long a request body may take to come; then it is refused with 408.',
    ...seconds,
  },
  READER_SECONDS: {
    name: 'READER_SECONDS',
    fallback: '60',
    meaning:
      'How long the reader of a stream may take nothing of what waits for it; then it counts as gone, and is charged what it was sent.',
    ...seconds,
  },
  CONNECTION_SECONDS: {
    name: 'CONNECTION_SECONDS',
    fallback: '75',
    meaning:
      'How long a connection may be idle between two requests, or take nothing of an answer that is complete.',
    check: /^([1-9]\d?|1\d\d|2[0-4]\d|25[0-5])$/,
    allowed: 'a number of seconds from 1 to 255',
  },
  FIRST_BYTE_SECONDS: {
    name: 'FIRST_BYTE_SECONDS',
    fallback: '120',
    meaning: "How long to wait for a vendor's first byte.",
    ...seconds,
  },
  IDLE_SECONDS: {
    name: 'IDLE_SECONDS',
    fallback: '120',
    meaning: 'How long to wait between two pieces of an answer.',
    ...seconds,
  },
  TOTAL_SECONDS: {
    name: 'TOTAL_SECONDS',
    fallback: '900',
    meaning: 'The longest a call may take; orphans of a crash are closed after it.',
    ...seconds,
  },
  DRAIN_SECONDS: {
    name: 'DRAIN_SECONDS',
    fallback: '120',
    meaning: 'How long open calls may run on after SIGTERM.',
    check: whole,
    allowed: 'a number of seconds',
  },
} as const satisfies Record<string, Setting>
