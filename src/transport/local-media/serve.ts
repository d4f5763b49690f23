/**
 * The built-in vendor's products other than chat, as something to fetch from: `POST local:/media/<product>` with the
 * inputs as JSON; for a job also `GET` and `DELETE local:/media/<product>/<job>`. Errors are in the shape of our own.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { invalid, Refusal, refusalBody, refuse, retryIn } from '../../core/refusal.ts'
import { systemClock } from '../../core/time.ts'
import { readInputs } from '../../media/inputs.ts'
import { vendorMedia } from '../../vendors/local/media.ts'
import type { Made } from '../../vendors/local/product.ts'
import type { VendorFetch } from '../../vendors/setup.ts'
import { type PublicParts, systemPublicParts } from '../public-address.ts'
import { bytesFor } from './inputs-bytes.ts'
import { Busy, openPool, type Pool, TooMuchWork } from './pool.ts'
import { registered } from './registered.ts'
import { openSlowJobs, type SlowJobs } from './slow-jobs.ts'
import { WrongInput } from './work.ts'

type MediaParts = {
  readonly pool: Pool
  readonly jobs: SlowJobs
  readonly get: PublicParts
}

/** The built-in products that this installation sells. */
export const mediaHere = vendorMedia(registered.products)

/** Those that it would sell with more packages. */
export const mediaAbsent = registered.absent.map(({ name }) => `local/${name}`)

const products = new Map(registered.products.map((product) => [product.name, product]))

/**
 * How many calls this process runs at once, with their inputs in memory, and how many of one key; jobs only wait.
 */
const OPEN_MAX = 16
const OPEN_OF_KEY = 4

const BUSY_S = 5

const refusalOf = (thrown: unknown): Refusal => {
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof WrongInput) return invalid(`inputs.${thrown.field}`, `${thrown.message}.`)
  if (thrown instanceof TooMuchWork) return invalid('inputs', `${thrown.message}.`)
  if (thrown instanceof Busy)
    return refuse('upstream_error', 'The built-in products are busy.', retryIn(BUSY_S))
  return refuse('upstream_error', `The built-in product failed: ${messageOf(thrown)}.`)
}

const noSuch = () =>
  Response.json(refusalBody(refuse('model_not_found', 'There is no such product.'), ''), { status: 404 })

const answerOf = (made: Made): Response =>
  'json' in made
    ? Response.json(made.json)
    : new Response(made.bytes, { headers: { 'content-type': made.mediaType } })

/** A job's state; its result is made on request. */
const jobAnswer = async (
  { jobs, pool }: MediaParts,
  product: string,
  name: string,
  cancel: boolean,
): Promise<Response> => {
  const state = cancel ? jobs.cancel(name) : jobs.state(name)
  if (state === undefined) return noSuch()
  if (state.status !== 'succeeded' || cancel) return Response.json({ id: name, ...state })
  const made = await pool.run({ product, inputs: state.inputs })
  return Response.json({ id: name, status: state.status, ...('json' in made ? made.json : {}) })
}

const callAnswer = async (
  parts: MediaParts,
  name: string,
  given: JsonObject,
  signal: AbortSignal | undefined,
): Promise<Response> => {
  const product = products.get(name)
  if (product === undefined) return noSuch()
  const inputs = readInputs(product, given)
  if (inputs instanceof Refusal) throw inputs
  if (product.job !== undefined)
    return Response.json({ id: parts.jobs.submit(product.job(inputs)), status: 'queued' }, { status: 202 })
  const bytes = await bytesFor(parts.get, product.bytesFrom, inputs, signal)
  // Bytes are passed beside the inputs; the long text that contained them stays here.
  const lean = bytes === undefined ? inputs : { ...inputs, url: null, image: null }
  const work = { product: name, inputs: lean, ...(bytes === undefined ? {} : { bytes }) }
  return answerOf(await parts.pool.run(work, signal))
}

/** The product that an address names, and the job. */
const namesIn = (url: string): readonly [product: string, job?: string | undefined] => {
  const [product = '', job] = url.slice(url.indexOf('/media/') + '/media/'.length).split('/')
  return [product, job]
}

/** Answers for the built-in products. */
export const serveMedia = (given: Partial<MediaParts> = {}): VendorFetch => {
  const parts = {
    pool: given.pool ?? openPool(),
    jobs: given.jobs ?? openSlowJobs(systemClock.now),
    get: given.get ?? systemPublicParts,
  }
  const open = new Map<string, number>()
  const answer: VendorFetch = async (url, { method, body, signal }) => {
    const [product, job] = namesIn(url)
    if (job !== undefined) return jobAnswer(parts, product, decodeURIComponent(job), method === 'DELETE')
    const inputs = parseJson(await new Response(body ?? '').text())
    return callAnswer(parts, product, isObject(inputs) ? inputs : {}, signal ?? undefined)
  }
  const whereRoomIs: VendorFetch = async (url, init, asker) => {
    const key = asker?.keyId ?? ''
    const own = open.get(key) ?? 0
    const all = open.values().reduce((sum, count) => sum + count, 0)
    if (own >= OPEN_OF_KEY || all >= OPEN_MAX) throw new Busy('too many calls are open')
    open.set(key, own + 1)
    try {
      return await answer(url, init)
    } finally {
      const left = (open.get(key) ?? 1) - 1
      if (left === 0) open.delete(key)
      else open.set(key, left)
    }
  }
  return async (url, init, asker) => {
    const waits = products.get(namesIn(url)[0])?.job !== undefined
    try {
      return await (waits ? answer : whereRoomIs)(url, init, asker)
    } catch (thrown) {
      const refusal = refusalOf(thrown)
      return Response.json(refusalBody(refusal, ''), { status: refusal.status, headers: refusal.headers })
    }
  }
}
