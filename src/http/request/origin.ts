/** Where a request comes from, as far as we can know. Claims by the caller count for nothing. */
import { originOf } from '../../core/address.ts'
import { addressFrom } from '../../gateway/enter/key-bounds.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { HttpCall } from '../route/route.ts'

/** The caller's address, if it is known. */
export const addressOfCall = (gateway: Gateway, call: HttpCall) => addressFrom(gateway, call)

/** The caller's address, or the network of an IPv6 address; all callers with unknown addresses count as one. */
export const originOfCall = (gateway: Gateway, call: HttpCall): string => {
  const address = addressOfCall(gateway, call)
  return address === undefined ? 'nobody' : originOf(address)
}
