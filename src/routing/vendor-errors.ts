/**
 * What a vendor's error means for the call: how the attempt failed, and what the caller learns. The vendor's own text
 * reaches a caller only if it is about the caller's request, shortened and without secrets.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../core/json-body.ts'
import { decimalFromNano, type Nano, usdNumber } from '../core/money.ts'
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'
import type { Instant } from '../core/time.ts'
import type { FailedAttempt } from './failed-attempt.ts'

type VendorError = {
  readonly status: number
  readonly codes: readonly string[]
  /** All codes in one text. */
  readonly code: string
  readonly message: string
  /** The member of the request that it is about. */
  readonly param?: string | undefined
  /** How long the body asks us to wait. */
  readonly restMs?: number | undefined
}

const decoder = new TextDecoder()
const MESSAGE_MAX = 300

type Ours = {
  readonly secret?: string | undefined
  /** The caller's request, if it has the names of OpenAI's errors. */
  readonly sent?: JsonObject | undefined
  /** The vendor was asked with a key of the caller's organisation. */
  readonly own?: boolean
  /** When it answered. */
  readonly now?: Instant
}

export const judgeVendorError = (
  answer: { status: number; retryAfter: string | null; body: Uint8Array },
  vendor: string,
  { secret, sent, own, now }: Ours = {},
): FailedAttempt => {
  const error = readVendorError(answer.status, answer.body)
  if (isContentFilter(error))
    return refused(
      refuse('content_policy_violation', "The request was blocked by the vendor's safety filters."),
    )
  if (isContextLength(error))
    return refused(
      refuse(
        'context_length_exceeded',
        withoutSecrets(error.message, secret) || "The request does not fit the model's context.",
      ),
    )
  if (answer.status === 413)
    return refused(refuse('request_too_large', `The vendor ${vendor} refuses a request of this size.`))
  // Some vendors answer 400 when this server's own account is at fault.
  if (isAccountFault(error))
    return { outcome: 'key_refused', refusal: vendorDown(vendor, 401, own), restMs: undefined }
  const text = withoutSecrets(error.message, secret)
  if (answer.status === 400 || answer.status === 422)
    return refused(refusedRequest(vendor, text, sent && sentMember(error.param ?? '', sent)))
  if (answer.status === 404) return { outcome: 'unfit', refusal: unknownThere(vendor, text) }
  const refusal = vendorDown(vendor, answer.status, own)
  // A proxy gave up waiting: the vendor behind it may continue and bill.
  if (answer.status === 504 || answer.status === 524) return { outcome: 'may_bill', refusal }
  const restMs = restOf(answer.retryAfter, now) ?? error.restMs
  if (isKeyRefused(error)) return { outcome: 'key_refused', refusal, restMs }
  return restMs === undefined ? { outcome: 'failed', refusal } : { outcome: 'busy', refusal, restMs }
}

const refusedRequest = (vendor: string, text: string, param: string | undefined): Refusal =>
  refuse(
    'invalid_parameter',
    text === ''
      ? `The vendor ${vendor} refused the request.`
      : `The vendor ${vendor} refused the request: ${text}`,
    { members: param === undefined ? {} : { param } },
  )

/** The 400 for a model that its vendor does not have, or does not offer to this server: asking again is no use. */
const unknownThere = (vendor: string, text: string): Refusal =>
  refuse(
    'model_not_found',
    `The vendor ${vendor} does not have this model${text === '' ? '' : `: ${text}`}. Nothing was charged; use another model.`,
    { members: { param: 'model', provider: vendor } },
  )

/** The refusal of a call that nobody could serve, with a time to come back if a vendor gave one. */
export const comeBackIn = (refusal: Refusal, restMs: number | undefined): Refusal => {
  if (restMs === undefined || refusal.code !== 'upstream_error') return refusal
  const { members, headers } = retryIn(Math.max(1, Math.ceil(restMs / 1000)))
  return refuse(refusal.code, refusal.message, { members: { ...refusal.members, ...members }, headers })
}

/** The 503 for a vendor that failed, with the meaning of its status but without its text; `own` says whose key it was. */
export const vendorDown = (vendor: string, status: number | undefined, own = false): Refusal => {
  const key = own ? "your organisation's own key" : "this server's credentials"
  const reason =
    status === undefined
      ? 'did not answer'
      : status === 429
        ? own
          ? "is over the rate limit of your organisation's own key"
          : 'is over its rate limit'
        : status === 401 || status === 403
          ? `does not accept ${key}`
          : status === 402
            ? `has no balance left on ${own ? "the account of your organisation's own key" : "this server's account"}`
            : 'failed'
  return refuse(
    'upstream_error',
    `The vendor ${vendor} ${reason}. Nothing was charged; ${own ? "the house's key was not asked in its place" : 'a model of another vendor may work'}.`,
    { members: own ? { provider: vendor, vendor_key: 'own' } : { provider: vendor } },
  )
}

/** A charge at the end of a sentence, and as a member; neither where it is not told. */
export const amountText = (charged: Nano | undefined): string =>
  charged === undefined ? '' : `: ${decimalFromNano(charged)} USD`
export const costMember = (charged: Nano | undefined) =>
  charged === undefined ? {} : { cost_usd: usdNumber(charged) }

/** The error that ends an answer whose vendor failed in the middle of it; what was delivered by then is charged. */
export const brokeOff = (
  vendor: string,
  {
    charged,
    estimated,
    kept,
  }: { readonly charged: Nano | undefined; readonly estimated: boolean; readonly kept: boolean },
): Refusal =>
  refuse(
    'upstream_error',
    `The vendor ${vendor} failed in the middle of its answer. What it had delivered was charged${amountText(charged)}.` +
      (kept
        ? ' A repeat gets this answer again and costs nothing; send the request as a new call for a whole one.'
        : ''),
    { members: { provider: vendor, ...costMember(charged), ...(estimated ? { estimated } : {}) } },
  )

/** A name such as `rate_limit_exceeded`: vendors' codes, and no sentence, key or number. */
const CODE = /^[a-z]+(?:[_.][a-z]+)*$/i
const CODE_MAX = 64

/**
 * What a log may contain of a vendor's error: its codes and how long it is. Its text may quote a prompt in any form, so no
 * part of it is logged.
 */
export const loggedError = (answer: { status: number; body: Uint8Array }): string => {
  const { codes } = readVendorError(answer.status, answer.body)
  const named = codes.filter((code) => code.length <= CODE_MAX && CODE.test(code))
  return [...named, `${answer.body.length} bytes`].join(', ')
}

/**
 * Reads the error objects that vendors send: `{error: {...}}`, `{error: "..."}`, `{message}`, `{detail}`, `{errors}`,
 * or a list of one.
 */
const readVendorError = (status: number, body: Uint8Array): VendorError => {
  const parsed = parseJson(decoder.decode(body.subarray(0, 65_536)))
  const value = Array.isArray(parsed) ? parsed[0] : parsed
  const nothing = { status, codes: [], code: '', message: '' }
  if (!isObject(value)) return nothing
  const inner: JsonObject = isObject(value.error) ? value.error : value
  const listed = Array.isArray(value.errors) ? value.errors.filter((part) => typeof part === 'string') : []
  const message = [inner.message, value.error, value.detail, listed.join('; ')].find(
    (part) => typeof part === 'string',
  )
  const details = Array.isArray(inner.details) ? inner.details.filter(isObject) : []
  const codes = [inner.code, inner.type, ...details.map(({ reason }) => reason)].filter(
    (part) => typeof part === 'string',
  )
  return {
    status,
    codes,
    code: codes.join(' '),
    message: typeof message === 'string' ? message : '',
    param: typeof inner.param === 'string' ? inner.param : undefined,
    restMs: details.map(({ retryDelay }) => delayOf(retryDelay)).find((delay) => delay !== undefined),
  }
}

/** A delay in Google's form: seconds with an `s`. Source: Google AIP-193, RetryInfo. */
const delayOf = (delay: unknown): number | undefined => {
  const seconds = typeof delay === 'string' ? /^(\d{1,5})(?:\.\d+)?s$/.exec(delay)?.[1] : undefined
  return seconds === undefined ? undefined : (Number.parseInt(seconds, 10) + 1) * 1000
}

const refused = (refusal: Refusal): FailedAttempt => ({ outcome: 'refused', refusal })

const isContentFilter = (error: VendorError): boolean =>
  error.status < 500 &&
  /content_filter|content_policy|content_management|data_inspection|responsibleai/i.test(error.code)

/** The vendor refuses this server's key, or its bill is unpaid. */
const isAccountFault = (error: VendorError): boolean =>
  error.status === 400 &&
  (/API_KEY_INVALID|billing|not_enough_credits/i.test(error.code) ||
    /credit balance is too low|API key not valid/i.test(error.message))

/** The key itself is refused, or its funds are used up: none of its models answers. */
const isKeyRefused = (error: VendorError): boolean =>
  error.status === 401 ||
  error.status === 402 ||
  (error.status === 429 && /insufficient_quota|billing/i.test(error.code))

const isContextLength = (error: VendorError): boolean =>
  (error.status === 400 || error.status === 413 || error.status === 422) &&
  (/context_length|string_above_max_length|request_too_long/i.test(error.code) ||
    /max(?:imum)? context length|context window|too many tokens|prompt (?:is )?too long|exceeds the maximum number of tokens|length of all messages is too long/i.test(
      error.message,
    ))

/** Removes the vendor key and anything that looks like a key, links and account ids; shortens the rest. */
export const withoutSecrets = (text: string, secret: string | undefined): string => {
  const known = secret === undefined || secret === '' ? text : text.replaceAll(secret, '[hidden]')
  return known
    .replace(/\b(?:sk|gsk|xai|pk|org|proj|key|csk|nvapi|fw|r8|pplx)[-_][\w*.-]{4,}/gi, '[hidden]')
    .replace(/\bBearer\s+\S+/gi, '[hidden]')
    .replace(/https?:\/\/\S+/gi, '[link]')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, MESSAGE_MAX)
    .trim()
}

const LONGEST_REST_MS = 99_999_000

/** Seconds, of which some vendors send parts, or a date to come. Source: RFC 9110, 10.2.3. */
const restOf = (retryAfter: string | null, now = Number.NaN): number | undefined => {
  if (retryAfter === null) return undefined
  const isSeconds = /^\d+(?:\.\d+)?$/.test(retryAfter)
  const restMs = isSeconds ? Math.ceil(Number(retryAfter) * 1000) : Date.parse(retryAfter) - now
  return restMs >= 0 && restMs <= LONGEST_REST_MS ? restMs : undefined
}

/**
 * The place that the vendor names (`tools[0].function`, or `tools.0.function`), as far as the caller sent it: the rest
 * of it may be what is missing, or what the vendor's own form has. Undefined if the caller sent nothing of it.
 */
const sentMember = (named: string, request: JsonObject): string | undefined => {
  let place = ''
  let value: Json | undefined = request
  for (const step of named.split(/[.[\]]+/).filter((part) => part !== '')) {
    const listed: boolean = Array.isArray(value)
    value = inside(value, step)
    if (value === undefined) break
    place += listed ? `[${step}]` : place === '' ? step : `.${step}`
  }
  return place === '' ? undefined : place
}

const inside = (value: Json | undefined, step: string): Json | undefined => {
  if (Array.isArray(value)) return /^\d{1,6}$/.test(step) ? value[Number(step)] : undefined
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
}
