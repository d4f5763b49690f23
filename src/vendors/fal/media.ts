/**
 * How to ask any of fal's models. Sources: npm @fal-ai/client 1.10.1 (queue); docs.fal.ai, "Model APIs". The queue says
 * when a job has ended. The result is requested separately, and its header `x-fal-billable-units` says what was billed.
 * Not verified: the exact bodies of blocked or cancelled jobs.
 */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { listAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, failed, jobDone, outputAt, segmentOf, unitsOf } from '../../media/read-job.ts'
import type { JobShape, Output, VendorAnswer, Verdict } from '../../media/shape.ts'

type Billed = {
  readonly makes: 'video' | 'image'
  /** The class in which we count the vendor's units, and how many make one unit. */
  readonly unit: keyof Usage
  readonly each: number
}

/** Status, result and cancel are requested below the first two segments of a model's name. */
const appOf = (model: string): string => model.split('/').slice(0, 2).join('/')

const requestPath = (ref: JsonObject): string =>
  `/${textAt(ref, 'app') ?? ''}/requests/${segmentOf(ref, 'id')}`

const isFlagged = (body: JsonObject, index: number): boolean =>
  (listAt(body, 'has_nsfw_concepts') ?? [])[index] === true

const picturesOf = (body: JsonObject): { outputs: Output[]; shown: Json[]; flagged: boolean } => {
  const made = listAt(body, 'images') ?? []
  const kept = made.filter((_one, index) => !isFlagged(body, index))
  const withAddress = kept.filter((one) => addressAt(one, 'url') !== undefined)
  const outputs = withAddress.map((one, index) =>
    outputAt('image', addressAt(one, 'url') ?? '', ['images', index, 'url']),
  )
  return { outputs, shown: withAddress, flagged: kept.length < made.length }
}

const measuredOf = (answer: VendorAnswer, { unit, each }: Billed): { measured?: Usage } => {
  const units = Number(answer.header('x-fal-billable-units') ?? Number.NaN)
  return units >= 0 && Number.isFinite(units) ? { measured: { [unit]: unitsOf(units, each) } } : {}
}

const resultOf = (answer: VendorAnswer, billed: Billed): Verdict | undefined => {
  const body = objectOf(answer)
  // A 500 is the model's own fault; other statuses are the queue's, and may pass.
  if (answer.status === 500) return failed(textAt(answer.json, 'detail'))
  if (body === undefined) return refusedOf(answer)
  const { measured } = measuredOf(answer, billed)
  if (billed.makes === 'video') {
    const url = addressAt(member(body, 'video'), 'url')
    if (url === undefined) return failed('the result has no address')
    return jobDone([outputAt('video', url, ['video', 'url'])], body, measured)
  }
  const { outputs, shown, flagged } = picturesOf(body)
  if (outputs.length === 0) return flagged ? BLOCKED : failed('the result has no address')
  return jobDone(
    outputs,
    { ...body, images: shown },
    billed.unit === 'image' ? { image: outputs.length } : measured,
  )
}

/** Its status can run ahead of its result. */
const isUnderWay = ({ status, json }: VendorAnswer): boolean =>
  status === 400 && /still in progress/i.test(textAt(json, 'detail') ?? '')

/** A result's 422 is about the inputs, and names a type for each of its faults. */
const refusedOf = ({ status, json }: VendorAnswer): Verdict | undefined => {
  if (status !== 422 && status !== 400) return undefined
  const faults = listAt(json, 'detail') ?? []
  if (faults.some((one) => /content_policy/.test(textAt(one, 'type') ?? ''))) return BLOCKED
  const message = faults.map((one) => textAt(one, 'msg')).find((one) => one !== undefined)
  return failed(message ?? textAt(json, 'detail') ?? 'the inputs were refused', 'inputs')
}

export const falShape = (billed: Billed): JobShape => ({
  flow: 'job',
  hosts: ['fal.run'],
  ask: (inputs, model, { wakeAt }) => ({
    method: 'POST',
    path: `/${model}`,
    ...(wakeAt === undefined ? {} : { query: { fal_webhook: wakeAt } }),
    body: { json: inputs },
  }),
  readRef: (answer, { upstreamName }) => {
    const id = textAt(objectOf(answer), 'request_id')
    return id === undefined ? refusedOf(answer) : { ref: { id, app: appOf(upstreamName) } }
  },
  poll: (ref) => ({ method: 'GET', path: `${requestPath(ref)}/status` }),
  readPoll: (answer, { ref, step }) => {
    if (step > 0) return isUnderWay(answer) ? { pending: true } : resultOf(answer, billed)
    switch (textAt(objectOf(answer), 'status')) {
      case 'IN_QUEUE':
      case 'IN_PROGRESS':
        return { pending: true }
      case 'COMPLETED':
        return { next: { method: 'GET', path: requestPath(ref) } }
      case 'CANCELLED':
        return { verdict: 'cancelled' }
      default:
        return undefined
    }
  },
  cancel: (ref) => ({ method: 'PUT', path: `${requestPath(ref)}/cancel` }),
  // Only finished results are billed.
  onCancel: 'free',
  everyMs: 1_000,
  deadlineMs: 1_800_000,
})
