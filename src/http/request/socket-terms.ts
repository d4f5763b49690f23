/**
 * The terms of a socket's messages: ceiling, sub-wallet, tags, conditions, payment mode and Idempotency-Key. The upgrade's headers are
 * the defaults of each message; a message's member replaces its header, and null removes it.
 */
import { unknownSubWallet } from '../../admission/caller.ts'
import { readCeiling } from '../../admission/ceiling.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { decimalFromNano, nanoFromNumber } from '../../core/money.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import type { Incoming } from '../../gateway/enter/incoming.ts'
import { readIdempotencyKey } from '../../gateway/enter/once-only.ts'
import { bringsPayment, paymentMode } from '../../payment/funding.ts'
import { conditionsIn, REQUIRE_HEADER } from '../../tenancy/conditions.ts'
import { TAGS_HEADER, tagsOfHeader } from '../../tenancy/tags.ts'
import { paymentHeaders } from '../route/headers.ts'

export type Terms = Pick<
  Incoming,
  'maxCostUsd' | 'subWallet' | 'tags' | 'requires' | 'paymentProtocol' | 'idempotencyKey'
>

const names = {
  maxCostUsd: ['X-Max-Cost-Usd', 'max_cost_usd'],
  subWallet: ['X-Sub-Wallet', 'sub_wallet'],
  tags: [TAGS_HEADER, 'tags'],
  requires: [REQUIRE_HEADER, 'require'],
  paymentProtocol: ['X-Payment-Protocol', 'payment_protocol'],
  idempotencyKey: ['Idempotency-Key', 'idempotency_key'],
} as const

const terms = ['maxCostUsd', 'subWallet', 'tags', 'requires', 'paymentProtocol', 'idempotencyKey'] as const

const SUB_WALLET = /^[\x21-\x7e]{1,255}$/

/** A socket has no place for an x402 quote and payment. */
const notPaidHere = (): Refusal =>
  refuse(
    'payment_mode_unavailable',
    'A socket takes no x402 payments; send paid calls to /v1/chat/completions, or pay from the wallet or by mpp.',
    { members: { payment_modes: 'wallet, mpp' } },
  )

/** What is wrong with the terms of an upgrade or a message. A missing sub-wallet is only noticed when it is used. */
const checkTerms = ({
  maxCostUsd,
  subWallet,
  tags,
  requires,
  paymentProtocol,
  idempotencyKey,
}: Terms): Refusal | undefined => {
  const mode = paymentMode(paymentProtocol, undefined)
  const key = idempotencyKey === undefined ? undefined : readIdempotencyKey(idempotencyKey)
  const said = tags === undefined ? undefined : tagsOfHeader(tags)
  const asked = requires === undefined ? undefined : conditionsIn(REQUIRE_HEADER, requires)
  const wrong = [readCeiling(maxCostUsd), mode, key, said, asked].find((one) => one instanceof Refusal)
  if (wrong !== undefined) return wrong
  if (mode === 'x402') return notPaidHere()
  return subWallet !== undefined && !SUB_WALLET.test(subWallet) ? unknownSubWallet() : undefined
}

/** The terms in the headers of an upgrade, or the Refusal of those that cannot be honoured. */
export const termsOfUpgrade = (headers: Headers): Terms | Refusal => {
  const given = (term: keyof Terms): string | undefined => headers.get(names[term][0]) ?? undefined
  const read: Terms = {
    maxCostUsd: given('maxCostUsd'),
    subWallet: given('subWallet'),
    tags: given('tags'),
    requires: given('requires'),
    paymentProtocol: given('paymentProtocol'),
    idempotencyKey: given('idempotencyKey'),
  }
  return checkTerms(read) ?? (bringsPayment(paymentHeaders(headers)) ? notPaidHere() : read)
}

/** The terms of a message, and the message without them: nothing of ours reaches a vendor. */
export const termsOfMessage = (
  message: JsonObject,
  defaults: Terms,
): { readonly terms: Terms; readonly request: JsonObject } | Refusal => {
  const request = { ...message }
  const own = { ...defaults }
  for (const term of terms) {
    const [header, member] = names[term]
    const value = message[member]
    delete request[member]
    if (value === undefined) continue
    const text = value === null ? undefined : textOf(term, value)
    if (text === null) return invalid(member, `'${member}' must be a string, as in the header '${header}'.`)
    own[term] = text
    const wrong = checkTerms({ ...nothing, [term]: text })
    if (wrong !== undefined) return renamed(wrong, header, member)
  }
  return { terms: own, request }
}

const nothing: Terms = {
  maxCostUsd: undefined,
  subWallet: undefined,
  tags: undefined,
  requires: undefined,
  paymentProtocol: undefined,
  idempotencyKey: undefined,
}

/** A member in the form of its header; null if it has none. An amount may also be a number. */
const textOf = (term: keyof Terms, value: unknown): string | null => {
  if (typeof value === 'string') return value
  const amount = term === 'maxCostUsd' ? nanoFromNumber(value) : undefined
  return amount === undefined ? null : decimalFromNano(amount)
}

const renamed = (wrong: Refusal, header: string, member: string): Refusal =>
  wrong.members.param === header ? invalid(member, wrong.message.replaceAll(header, member)) : wrong
