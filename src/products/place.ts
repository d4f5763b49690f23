/** What a server says of itself where it shows its products. */
import type { JsonObject } from '../core/json-body.ts'
import type { ModelKind } from '../core/model.ts'

export type Place = {
  /** The address callers know it by, without a slash at its end. */
  readonly base: string
  /** Payments call by call are taken. */
  readonly x402: boolean
  /** What an anonymous trial is given; undefined where there are none. */
  readonly trial: { readonly usd: string; readonly days: number } | undefined
  /** Where people get a key. */
  readonly signUpUrl: string | undefined
  /** Wallets are funded by card. */
  readonly cards: boolean
  /** What whole answers of the run interface are, as JSON Schema. */
  readonly answers: (kind: ModelKind) => JsonObject
}
