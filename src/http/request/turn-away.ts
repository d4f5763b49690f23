/**
 * Turns calls away while the process is overloaded, at a small part of the cost of a call: all that is known of a
 * request is its address and whose it seems to be. The answer looks like any refusal; its text is built once.
 */
import { Refusal } from '../../core/refusal.ts'
import { newId } from '../../core/time.ts'
import { callerDialects } from '../../dialects/index.ts'
import { noteTrouble } from '../../gateway/answer/refusal-for.ts'
import { overloaded } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { helpFor } from '../answer/after-turn.ts'
import { callerOf } from '../route/headers.ts'
import type { Route } from '../route/route.ts'
import { type createRouter, splitUrl } from '../route/router.ts'

/** A placeholder for the request's id in the text. */
const ID = '\0'

/** A refusal in the form of a dialect, without the request's id. */
type Prepared = {
  readonly parts: readonly string[]
  /** One for all answers: the runtime copies it, which costs less than building a new one. */
  readonly init: { readonly status: number; readonly headers: Headers }
  readonly idNames: readonly string[]
}

/** Answers a call that is turned away; undefined for all other requests. */
export const turnsAway = (gateway: Gateway, match: ReturnType<typeof createRouter>) => {
  const { capacity } = gateway
  const { overload } = capacity
  const prepared = new Map<Route['dialect'], Prepared>()
  const logTurnAway = newTurnAwayLog(gateway)
  return (request: Request): Response | undefined => {
    if (!overload.limits() || capacity.draining) return undefined
    const matched = match(request.method, splitUrl(request.url).path)
    if (matched instanceof Refusal || matched.route.runs !== true) return undefined
    // Reading a header is the most expensive step here.
    if (!overload.turnsAllAway() && !overload.turnsAway(callerOf(request.headers))) return undefined
    if (request.headers.has('expect')) return undefined
    logTurnAway()
    const { dialect } = matched.route
    let it = prepared.get(dialect)
    if (it === undefined) {
      it = prepare(dialect)
      prepared.set(dialect, it)
    }
    const id = newId()
    for (const name of it.idNames) it.init.headers.set(name, id)
    return new Response(it.parts.join(id), it.init)
  }
}

const REFUSAL = overloaded()

const prepare = (dialect: Route['dialect']): Prepared => {
  const text = JSON.stringify(callerDialects[dialect ?? 'chat'].refusal(REFUSAL, ID))
  const headers = new Headers({
    'content-type': 'application/json',
    'retry-after': REFUSAL.headers['retry-after'] ?? '',
    ...helpFor(REFUSAL.code),
  })
  return {
    parts: text.split(JSON.stringify(ID).slice(1, -1)),
    init: { status: REFUSAL.status, headers },
    idNames: dialect === 'messages' ? ['x-request-id', 'request-id'] : ['x-request-id'],
  }
}

const SECOND_MS = 1_000

/** The log reports once a second how many were turned away: a line for each would cost more than the answer. */
const newTurnAwayLog = (gateway: Gateway): (() => void) => {
  const {
    clock,
    log,
    watch: { meters },
  } = gateway
  let count = 0
  let loggedMs = Number.NEGATIVE_INFINITY
  return () => {
    count++
    meters?.turnedAway()
    const nowMs = clock.monotonicMs()
    if (nowMs - loggedMs < SECOND_MS) return
    log.warn('overloaded: calls were turned away', { ops: count })
    noteTrouble(gateway, REFUSAL)
    loggedMs = nowMs
    count = 0
  }
}
