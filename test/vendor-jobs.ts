/** Vendors' jobs, for tests: the request of each step, and the meaning of each answer. */
import type { JsonObject } from '../src/core/json-body.ts'
import type { Inputs, JobShape, Outgoing, VendorAnswer } from '../src/media/shape.ts'
import { judgeVendorError } from '../src/routing/vendor-errors.ts'
import { answerOf, checked, type Reply, recordOf } from './vendor-media.ts'

const JOB = { id: 'run_1' }

export const jobOf = (id: string): JobShape => {
  const { shape } = recordOf(id)
  if (shape.flow !== 'job') throw new Error(`${id} is no job`)
  return shape
}

const upstreamOf = (id: string): string => {
  const { upstreamName, name } = recordOf(id)
  return upstreamName ?? name
}

/** A request as a plain object; files by their names. */
export const plain = ({ body, ...rest }: Outgoing): object => {
  if (body === undefined) return rest
  if ('json' in body) return { ...rest, json: body.json }
  if ('raw' in body) return { ...rest, raw: body.raw.mediaType }
  return { ...rest, form: body.form.map((part) => [part.name, 'text' in part ? part.text : part.filename]) }
}

/** The submission. */
export const submitted = (id: string, inputs: Inputs, wakeAt?: string): object => {
  const job = wakeAt === undefined ? JOB : { ...JOB, wakeAt }
  return plain(jobOf(id).ask(checked(id, inputs), upstreamOf(id), job))
}

type Reading = ReturnType<JobShape['readPoll']> | ReturnType<JobShape['readRef']>

/** The meaning of an answer, as one word or as the deciding value: the reference, the next request, the units measured. */
const summaryOf = (read: Reading, answer: VendorAnswer): string | object => {
  if (read === undefined) {
    if (answer.status < 300) return 'broken'
    const text = { status: answer.status, retryAfter: null, body: answer.bytes }
    return judgeVendorError(text, 'x').refusal.code
  }
  if ('ref' in read) return read
  if ('next' in read) return { next: plain(read.next) }
  if ('pending' in read) return read.progress === undefined ? 'pending' : { progress: read.progress }
  if (read.verdict === 'done') return read.measured ?? 'not measured'
  if (read.verdict === 'failed') return `fault of ${read.fault}`
  return read.verdict
}

/** The meaning of an answer to the submission. */
export const submissionReading = (id: string, inputs: Inputs, reply: Reply, step = 0): string | object => {
  const answer = answerOf(reply)
  const it = { inputs: checked(id, inputs), upstreamName: upstreamOf(id), job: JOB, step }
  return summaryOf(jobOf(id).readRef(answer, it), answer)
}

/** The meaning of an answer to a poll. */
export const pollReading = (id: string, ref: JsonObject, reply: Reply, step = 0): string | object => {
  const answer = answerOf(reply)
  return summaryOf(jobOf(id).readPoll(answer, { ref, step }), answer)
}

/** The verdict of a poll that ended well. */
export const doneOf = (id: string, ref: JsonObject, reply: Reply, step = 0) => {
  const read = jobOf(id).readPoll(answerOf(reply), { ref, step })
  if (read === undefined || !('verdict' in read) || read.verdict !== 'done')
    throw new Error(`${id} is not done`)
  return read
}
