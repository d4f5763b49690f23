/** Refusals: what a caller is told in place of an answer; the table of them is in refusal-table.ts. */
import type { ExactNumber } from './money.ts'
import { refusalTable } from './refusal-table.ts'

export type RefusalCode = keyof typeof refusalTable

type Member = string | ExactNumber | boolean | null

/**
 * One refusal: a value, returned by pure code, thrown only by `must`, and rendered by the HTTP layer.
 * `members` are added to the error object; `headers` to the answer.
 */
export class Refusal {
  readonly code: RefusalCode
  readonly message: string
  readonly members: Readonly<Record<string, Member>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: RefusalCode,
    message: string,
    extra: { members?: Record<string, Member>; headers?: Record<string, string> } = {},
  ) {
    this.code = code
    this.message = message
    this.members = extra.members ?? {}
    this.headers = extra.headers ?? {}
  }

  get status(): number {
    return refusalTable[this.code].status
  }

  get type(): string {
    return refusalTable[this.code].type
  }
}

export const refuse = (
  code: RefusalCode,
  message: string,
  extra?: { members?: Record<string, Member>; headers?: Record<string, string> },
): Refusal => new Refusal(code, message, extra)

/** Says when to come back, in the body and in the header. */
export const retryIn = (seconds: number) => ({
  members: { retry_after: seconds },
  headers: { 'retry-after': String(seconds) },
})

/** The 503 of a server that cannot take the call now; nothing was charged. */
export const unavailable = (reason: string): Refusal =>
  refuse('service_unavailable', `${reason} Nothing was charged; try again in 2 s.`, retryIn(2))

/** The refusal for one bad field; `param` is its path in the body or the name of the header. */
export const invalid = (param: string, message: string): Refusal =>
  new Refusal('invalid_parameter', message, { members: { param } })

/** Unwraps a value or throws the refusal: the one place where a refusal leaves pure code. */
export const must = <T>(value: T | Refusal): T => {
  if (value instanceof Refusal) throw value
  return value
}

/** The error body of the specification, with the request's id for support. */
export const refusalBody = (refusal: Refusal, requestId: string) => ({
  error: {
    message: refusal.message,
    type: refusal.type,
    code: refusal.code,
    ...refusal.members,
    request_id: requestId,
  },
})

/** All that is written of each item, or the first refusal. */
export const writeEach = <Item, Written>(
  items: readonly Item[],
  write: (item: Item) => readonly Written[] | Refusal,
): readonly Written[] | Refusal => {
  const all: Written[] = []
  for (const item of items) {
    const written = write(item)
    if (written instanceof Refusal) return written
    for (const one of written) all.push(one)
  }
  return all
}
