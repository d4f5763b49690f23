/** Where a request comes from, as far as we can know. Claims by the caller count for nothing. */
import { callerAddress, originOf } from '../core/address.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { HttpCall } from './route.ts'

/** The caller's address, or the network of an IPv6 address; all callers with unknown addresses count as one. */
export const originOfCall = (gateway: Gateway, call: HttpCall): string => {
  const forwardedFor = call.request.headers.get('x-forwarded-for')
  const address = callerAddress(call.peer(), forwardedFor, gateway.options.trustedProxies)
  return address === undefined ? 'nobody' : originOf(address)
}
