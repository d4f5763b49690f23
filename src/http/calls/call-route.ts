/** What the addresses have in common at which a key calls, or a caller is asked to pay. */
import { callHeaders } from '../request/call-headers.ts'
import { paymentRequired } from '../schema/errors.ts'

export const callRoute = {
  method: 'POST',
  auth: 'bearer',
  instead: paymentRequired,
  headers: callHeaders,
  runs: true,
} as const
