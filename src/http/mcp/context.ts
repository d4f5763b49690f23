/** What the tools of one request need in order to answer. */
import type { Gateway } from '../../gateway/gateway.ts'
import type { Place } from '../../products/place.ts'
import type { HttpCall, Route } from '../route.ts'

export type McpCall = {
  readonly gateway: Gateway
  readonly call: HttpCall
  /** The credential as sent; null for a guest. */
  readonly authorization: string | null
  readonly place: Place
  readonly routes: readonly Route[]
}
