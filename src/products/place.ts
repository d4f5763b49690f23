/** What a server says about itself where it shows its products. */
import type { JsonObject } from '../core/json-body.ts'
import type { ModelKind } from '../core/model.ts'

export type Place = {
  /** The address that callers know it by, without a final slash. */
  readonly base: string
  /** Payments call by call are taken. */
  readonly x402: boolean
  /** And so are cards, by shared payment tokens of Stripe. */
  readonly cardsByCall: boolean
  /** What an anonymous trial gets; undefined if there are none. */
  readonly trial: { readonly usd: string; readonly days: number } | undefined
  /** Where people get a key. */
  readonly signUpUrl: string | undefined
  /** There is a console for people. */
  readonly console: boolean
  /** Wallets can be funded by card. */
  readonly cards: boolean
  /** Whole answers of the run interface, as JSON Schema. */
  readonly answers: (kind: ModelKind) => JsonObject
}
