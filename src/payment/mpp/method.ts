/** What a method of payment has to say so that it can be offered and taken by the scheme `Payment`. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Offer } from '../x402/offer.ts'
import type { Presented } from '../x402/presented.ts'
import type { Credential } from './credential.ts'

/** Why a credential is no payment: codes, as the 402 tells them. */
export type Wrong =
  | 'malformed_credential'
  | 'invalid_challenge'
  | 'method_unsupported'
  | 'verification_failed'

type Asked = {
  readonly offer: Offer
  readonly units: string
  /** How long a payer has to sign and send. */
  readonly timeoutSeconds: number
}

export type Method = {
  readonly name: string
  /** What its payer needs to know; undefined where the offer is not of this method. */
  readonly request: (offer: Offer, units: string) => JsonObject | undefined
  /** The payment that a credential carries, whose challenge is ours and asks for this. */
  readonly present: (credential: Credential, asked: Asked) => Presented | Wrong
}
