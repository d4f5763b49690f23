/** A request's turn at the rates of its key, and of each key above that has rates of its own. */
import { rateLimited } from '../../admission/rate.ts'
import type { RateVerdict, Soon, TokenRequest } from '../../book/contract.ts'
import { must, type Refusal } from '../../core/refusal.ts'
import { whenKnown } from '../../core/soon.ts'
import { type Key, type KeyId, placeOf } from '../../tenancy/key.ts'
import { leastRates, leastRequests, type RateLimits, rateNames } from '../../tenancy/rates.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'
import { addRateHeaders, type Trace } from '../parts/trace.ts'
import { jointTurn, type TokenTurn, tokensFor } from './token-turn.ts'

/** Takes one request from each of the key's windows. */
export const takeTurn = async (gateway: Gateway, key: Key, trace: Trace): Promise<void> => {
  await turnOf(gateway, { key, trace, planRpm: gateway.options.planRpm })
}

/** The same for a call, with the tokens it may use if a rate limits them. Returns what it reserved. */
export const takeCallTurn = (
  gateway: Gateway,
  { key, call, model, trace }: CallTurn,
  planRpm: number | undefined = gateway.options.planRpm,
): Soon<TokenTurn | undefined> => turnOf(gateway, { key, trace, planRpm, asks: { call, model } })

type CallTurn = Pick<Task, 'key' | 'call' | 'model' | 'trace'>

type RateRequest = Pick<CallTurn, 'key' | 'trace'> & {
  readonly planRpm: number | undefined
  /** What uses tokens; absent for requests that use none. */
  readonly asks?: Pick<CallTurn, 'call' | 'model'>
}

const turnOf = ({ book }: Gateway, request: RateRequest): Soon<TokenTurn | undefined> => {
  const { key, trace, planRpm, asks } = request
  if (key.above.length > 0) return sharedTurn(book, request)
  const tokens = tokensOf(asks, key.limits.tpm)
  return whenKnown(book.takeRate(placeOf(key), key.limits, planRpm, tokens), ownTurn, trace, undefined)
}

/** The tokens to reserve; none if no rate limits them. */
const tokensOf = (asks: RateRequest['asks'], tpm: number | undefined): TokenRequest | undefined =>
  asks === undefined || tpm === undefined ? undefined : must(tokensFor(asks.model, asks.call, tpm))

const ownTurn = (taken: RateVerdict | Refusal, trace: Trace): TokenTurn | undefined => {
  const own = must(taken)
  addRateHeaders(trace, own)
  if (!own.admitted) throw rateLimited(own, 'own')
  return own.tokens
}

/**
 * A turn at the rates of the key and at those of each key above it, which all keys below that one share. The key's own
 * come first, so that a request over its own rate takes nothing from the others. All values of a rotated key have the
 * same windows, from which a request is taken once, within the least of their limits.
 */
const sharedTurn = async (
  book: Gateway['book'],
  { key, trace, planRpm, asks }: RateRequest,
): Promise<TokenTurn | undefined> => {
  const makers = must(await book.makersOf(key))
  const [[place, limits], ...others] = placesOf(key, makers)
  const tokens = tokensOf(asks, leastRates([limits, ...others.map(([, shared]) => shared)]).tpm)
  const own = must(await book.takeRate(place, limits, planRpm, tokens))
  const turns: TokenTurn[] = own.tokens === undefined ? [] : [own.tokens]
  let rate = own
  for (const [maker, shared] of others) {
    if (!rate.admitted) break
    if (!binds(shared, tokens)) continue
    const other = must(await book.takeRate(maker, shared, undefined, tokens))
    if (other.tokens !== undefined) turns.push(other.tokens)
    if (!other.admitted || (countsRequests(shared) && other.remaining < rate.remaining)) rate = other
  }
  const joint = jointTurn(turns)
  addRateHeaders(trace, joint === undefined ? rate : { ...rate, tokens: joint })
  if (rate.admitted) return joint
  joint?.correct(0)
  throw rateLimited(rate, rate === own ? 'own' : 'shared')
}

const countsRequests = (limits: RateLimits): boolean => leastRequests(limits) !== undefined

const binds = (limits: RateLimits, tokens: TokenRequest | undefined): boolean =>
  countsRequests(limits) || (limits.tpm !== undefined && tokens !== undefined)

/** Whether any rate of its own limits what the key uses; the plan's does not count. */
export const hasRates = ({ limits }: Pick<Key, 'limits'>): boolean =>
  rateNames.some((rate) => limits[rate] !== undefined)

type PlaceRates = readonly [place: KeyId, limits: RateLimits]

/** The rates of the key's own place, and of those above it. */
export const placesOf = (key: Key, makers: readonly Key[]): [PlaceRates, ...PlaceRates[]] => {
  const places = Map.groupBy(makers, placeOf)
  const limitsOf = (keys: readonly Key[]) => leastRates(keys.map(({ limits }) => limits))
  const own = placeOf(key)
  const newer = places.get(own) ?? []
  places.delete(own)
  return [
    [own, limitsOf([key, ...newer])],
    ...[...places].map(([place, keys]): PlaceRates => [place, limitsOf(keys)]),
  ]
}
