/** The facilitator: checks payments and puts them on the chain. Without its clear answer, an outcome stays unknown. */
import type { HTTPFacilitatorClient } from '@x402/core/http'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import type { Log } from '../../core/log.ts'
import type { X402Options } from './offer.ts'

/** What it gets: the payer's payment, and what this server asked for. */
export type Sent = { readonly payload: object; readonly requirements: object }

type Verified =
  | { readonly outcome: 'valid' }
  | { readonly outcome: 'invalid'; readonly reason: string }
  | { readonly outcome: 'unknown' }

export type FacilitatorSettled =
  | { readonly outcome: 'settled'; readonly transaction: string }
  /** `certain`: however often it was asked before, nothing of it was paid or will be. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly certain?: true }
  /** On its way to the chain, or nobody knows. */
  | { readonly outcome: 'unknown'; readonly reason: string }

export type Facilitator = {
  verify(sent: Sent): Promise<Verified>
  settle(sent: Sent): Promise<FacilitatorSettled>
  /** Everything it takes; undefined when it does not answer. */
  supported(): Promise<Kinds | undefined>
}

/** By `<version> <scheme> <network>`: the address it settles from or signs claims with, where payers must name it. */
export type Kinds = ReadonlyMap<string, string | undefined>

const PENDING = 'settlement_pending'
/** Reasons are passed on to callers as codes only, because a facilitator's messages contain texts of its node. */
const CODE = /^[a-z0-9_]{1,100}$/

const ADDRESS = /^0x[0-9a-f]{40}$/i

const codeOf = (reason: unknown): string =>
  typeof reason === 'string' && CODE.test(reason) ? reason : 'payment_refused'

/** Loads the client on first use: a server without x402 need not load it. */
export const openFacilitator = async (options: X402Options, log: Log): Promise<Facilitator> => {
  const { HTTPFacilitatorClient: Client } = await import('@x402/core/http')
  const { facilitatorToken: token } = options
  const headers = { authorization: `Bearer ${token}` }
  const client = new Client({
    url: options.facilitatorUrl,
    timeoutMs: options.settleMs,
    ...(token === undefined
      ? {}
      : { createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }) }),
  })
  return facilitatorOn(client, (asked, error) =>
    log.warn('the facilitator of x402 payments did not answer', { stage: asked, error: String(error) }),
  )
}

const facilitatorOn = (
  client: HTTPFacilitatorClient,
  noAnswer: (asked: 'verify' | 'settle', error: unknown) => void,
): Facilitator => ({
  verify: async ({ payload, requirements }) => {
    try {
      const answer = await client.verify(payload as PaymentPayload, requirements as PaymentRequirements)
      return answer.isValid
        ? { outcome: 'valid' }
        : { outcome: 'invalid', reason: codeOf(answer.invalidReason) }
    } catch (error) {
      if (isAnswer(error)) return { outcome: 'invalid', reason: codeOf(error.invalidReason) }
      noAnswer('verify', error)
      return { outcome: 'unknown' }
    }
  },
  settle: async ({ payload, requirements }) => {
    try {
      const answer = await client.settle(payload as PaymentPayload, requirements as PaymentRequirements)
      if (answer.success) return { outcome: 'settled', transaction: answer.transaction }
      return failed(answer.errorReason)
    } catch (error) {
      if (isAnswer(error)) return failed(error.errorReason)
      noAnswer('settle', error)
      return { outcome: 'unknown', reason: 'no_answer' }
    }
  },
  supported: async () => {
    try {
      const { kinds } = await client.getSupported()
      return new Map(
        kinds.map(({ x402Version, scheme, network, extra }) => {
          const address = extra?.facilitatorAddress ?? extra?.receiverAuthorizer
          return [
            `${x402Version} ${scheme} ${network}`,
            typeof address === 'string' && ADDRESS.test(address) ? address : undefined,
          ]
        }),
      )
    } catch {
      return undefined
    }
  },
})

const failed = (reason: unknown): FacilitatorSettled =>
  reason === PENDING
    ? { outcome: 'unknown', reason: PENDING }
    : { outcome: 'refused', reason: codeOf(reason) }

type FacilitatorAnswer = Error & { readonly invalidReason?: unknown; readonly errorReason?: unknown }

/** A clear no that came with a 4xx; after a 5xx, a time-out or a rate limit anything may have happened. */
const isAnswer = (error: unknown): error is FacilitatorAnswer =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  error.statusCode < 500 &&
  error.statusCode !== 408 &&
  error.statusCode !== 429
