/** Where a request comes from, as far as it can be known. What a caller says of itself counts for nothing. */
import { callerAddress, originOf } from '../core/address.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { HttpCall } from './route.ts'

/** The caller's address, or the network of an IPv6 one; callers whose address cannot be known count as one. */
export const originOfCall = (gateway: Gateway, call: HttpCall): string => {
  const forwardedFor = call.request.headers.get('x-forwarded-for')
  const address = callerAddress(call.peer(), forwardedFor, gateway.options.trustedProxies)
  return address === undefined ? 'nobody' : originOf(address)
}
