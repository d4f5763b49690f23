/** What the tests of vendors that deliver jobs have in common: our own words for their answers. */
import type { JsonObject } from '../../src/core/json-body.ts'
import type { Inputs } from '../../src/media/shape.ts'
import type { Reply } from '../vendor-media.ts'

export type Step = readonly [what: string, reply: Reply, expected: string | object, step?: number]

export type Case = {
  readonly id: string
  readonly inputs: Inputs
  readonly sent: object
  readonly submissions: readonly Step[]
  readonly ref: JsonObject
  readonly poll: object
  readonly polls: readonly Step[]
  readonly cancel?: object
  /** It gets an address at which to tell that the job has ended. */
  readonly callsBack?: true
}

export const ok = (json: object, status = 200): Reply => ({ status, json })

/** What every vendor means by a status alone. */
export const usual = (bad: object, badStatus = 400): readonly Step[] => [
  ['bad request', { status: badStatus, json: bad }, 'invalid_parameter'],
  ...outages(bad),
]
export const outages = (body: object): readonly Step[] => [
  ['rate limit', { status: 429, json: body }, 'upstream_error'],
  ['no credits', { status: 402, json: body }, 'upstream_error'],
  ['refused key', { status: 401, json: body }, 'upstream_error'],
  ['fault', { status: 500, text: '<p>' }, 'upstream_error'],
  ['something else', { json: { hello: 1 } }, 'broken'],
  ['no JSON', { text: '<p>' }, 'broken'],
]
/** A failed poll does not end a job; it is left to the core. */
export const lost: readonly Step[] = [
  ['gone', { status: 404, json: { detail: 'not found' } }, 'model_not_found'],
  ['an outage while polled', { status: 503, text: 'busy' }, 'upstream_error'],
  ['an unknown state', ok({ status: 'meditating', state: '', data: {} }), 'broken'],
]

export const film = 'https://cdn.example.com/film.mp4'
export const still = 'https://cdn.example.com/still.png'
