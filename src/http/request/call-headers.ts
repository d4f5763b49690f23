/** What a model call may say beside its body. */
import { REQUIRE_HEADER } from '../../tenancy/conditions.ts'
import { TAGS_HEADER } from '../../tenancy/tags.ts'

/** Headers that every model call may carry beside its credential. */
export const callHeaders = [
  'X-Max-Cost-Usd',
  'Idempotency-Key',
  'X-Sub-Wallet',
  TAGS_HEADER,
  REQUIRE_HEADER,
  'X-Payment-Protocol',
  'X-Session-Id',
  'PAYMENT-SIGNATURE',
  'X-PAYMENT',
] as const
