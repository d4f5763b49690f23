/** Why an exchange with a vendor ended without the requested answer. */

import type { JsonObject } from '../core/json-body.ts'

/** `stage` tells what the caller may still do. */
export class VendorFault extends Error {
  readonly stage: 'connect' | 'first byte' | 'body' | 'deadline'
  /** Whether the vendor may have taken the request and bills it: asking again might pay twice. */
  readonly mayBill: boolean
  /** The error that the vendor sent in place of an answer, as its JSON value. */
  readonly said: JsonObject | undefined

  constructor(
    stage: VendorFault['stage'],
    message: string,
    {
      cause,
      said,
      mayBill = stage !== 'connect' && said === undefined,
    }: { readonly cause?: unknown; readonly said?: JsonObject | undefined; readonly mayBill?: boolean } = {},
  ) {
    super(message, { cause })
    this.stage = stage
    this.mayBill = mayBill
    this.said = said
  }
}

/**
 * Codes of a connection that was never made: no name, no route, no listener, no tunnel through a proxy, no trusted
 * certificate. EPROTO is not among them: the runtime says it of a broken handshake and of a connection that broke later.
 */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ConnectionRefused|FailedToOpenSocket|ERR_PROXY_TUNNEL|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_.*|.*_CERT(_.*)?|ERR_TLS_CERT.*)$/

export const neverSent = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && NEVER_SENT.test(String(cause.code))
