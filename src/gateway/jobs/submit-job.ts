/** Submits a job, once. It is sent elsewhere only if the first vendor surely did not take it. */
import type { Priced } from '../../core/model.ts'
import { refuse } from '../../core/refusal.ts'
import { encodeOutgoing } from '../../media/encode.ts'
import type { Done, JobNames, JobShape, VendorAnswer, Verdict } from '../../media/shape.ts'
import type { Deployment } from '../../routing/deployments.ts'
import { vendorDown, withoutSecrets } from '../../routing/vendor-errors.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import { promptBlocked } from '../answer/answer-whole.ts'
import { askVendor } from '../ask/ask-vendor.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'
import { askStep, jsonIn, readWhole } from './vendor-step.ts'

/** A step makes at most this many exchanges. */
export const STEPS_MAX = 4

type Read = ReturnType<JobShape['readRef']>
type Begun = Extract<NonNullable<Read>, { ref: object }>
export type Submitted = {
  readonly begun: Begun | Done
  readonly at: Deployment
}

type Submission = {
  readonly shape: JobShape
  readonly priced: Priced
  readonly job: JobNames
}

/** Submits the job. Throws the Refusal of a vendor that did not take it; then there is no job. */
export const submitJob = async (
  gateway: Gateway,
  task: Task,
  { shape, priced: { inputs }, job }: Submission,
): Promise<Submitted> => {
  const { opened } = await askVendor(gateway, task, {
    request: ({ model }) => ({
      ...encodeOutgoing(shape.ask(inputs, model.upstreamName, job), job.id),
      notCarried: [],
    }),
    open: async (exchange, _request, at) => {
      const { upstreamName } = at.model
      let answer: VendorAnswer = await readWhole(exchange)
      for (let step = 0; ; step++) {
        const read = shape.readRef(answer, { inputs, upstreamName, job, step })
        if (read === undefined || step > STEPS_MAX)
          throw new VendorFault('body', 'the vendor answered with something else')
        if ('next' in read)
          answer = await askStep(
            gateway,
            { deployment: at, shape, id: job.id, taken: task.trace.taken, under: task.trace.conditions },
            read.next,
          )
        else return { begun: took(read, at), at }
      }
    },
    refused: ({ status, body, retryAfter }, at) => {
      const { upstreamName } = at.model
      const answer: VendorAnswer = { status, header: () => undefined, bytes: body, json: jsonIn(body) }
      const read = shape.readRef(answer, { inputs, upstreamName, job, step: 0 })
      if (read !== undefined && 'verdict' in read && read.verdict !== 'done')
        return refusalOf(read, at.secret?.reveal())
      // A fault behind the vendor's front door: the vendor may have the job.
      return status >= 500 && !(status === 503 && retryAfter !== null)
        ? vendorDown(at.setup.vendor.id, status)
        : undefined
    },
  })
  return opened
}

const took = (
  read: Exclude<Read, undefined | { next: unknown }>,
  { secret }: Deployment,
): Submitted['begun'] => {
  if ('ref' in read || read.verdict === 'done') return read
  throw refusalOf(read, secret?.reveal())
}

const refusalOf = (verdict: Exclude<Verdict, { verdict: 'done' }>, secret: string | undefined) => {
  if (verdict.verdict === 'blocked') return promptBlocked()
  if (verdict.fault === 'vendor')
    return refuse('upstream_error', 'The vendor did not take the job. Nothing was charged.')
  return refuse('invalid_parameter', withoutSecrets(verdict.message, secret), {
    members: { param: 'inputs' },
  })
}
