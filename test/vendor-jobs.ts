/** Vendors' jobs, for tests: the request of each step, and the meaning of each answer. */
import { expect, test } from 'bun:test'
import type { JsonObject } from '../src/core/json-body.ts'
import type { Inputs, JobShape, Outgoing, VendorAnswer } from '../src/media/shape.ts'
import { judgeVendorError } from '../src/routing/vendor-errors.ts'
import type { Case, Step } from './vendor-answers/job.ts'
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

/** Passes the step explicitly: a test runner takes a missing argument for a callback to wait for. */
const whole = ([what, reply, expected, step = 0]: Step) => [what, reply, expected, step] as const

const WAKE_AT = 'https://turnpike.example.com/hooks/x/y'

/** What each job asks of its vendor, step by step, and what each of the vendor's answers means. */
export const testJobs = (cases: readonly Case[]): void => {
  for (const { id, inputs, sent, submissions, ref, poll, polls, cancel, callsBack = false } of cases) {
    test(`${id}: what is asked`, () => {
      expect(submitted(id, inputs)).toEqual(sent)
      expect(plain(jobOf(id).poll(ref))).toEqual(poll)
      const cancelling = jobOf(id).cancel?.(ref)
      expect(cancelling === undefined ? undefined : plain(cancelling)).toEqual(cancel)
    })
    test(`${id}: it gets an address to call back, or none`, () => {
      const text = JSON.stringify(submitted(id, inputs, WAKE_AT))
      expect(text.includes(JSON.stringify(WAKE_AT).slice(1, -1))).toBe(callsBack)
    })
    test.each(submissions.map(whole))(`${id}, submitted: %s`, (_what, reply, expected, step) => {
      expect(submissionReading(id, inputs, reply, step)).toEqual(expected)
    })
    test.each(polls.map(whole))(`${id}, polled: %s`, (_what, reply, expected, step) => {
      expect(pollReading(id, ref, reply, step)).toEqual(expected)
    })
    if (!('url' in ref))
      test(`${id}: an id that the vendor made up asks nothing else`, () => {
        const { path } = jobOf(id).poll({ ...ref, id: '../../x?y#z' })
        expect(path).not.toMatch(/\.\.\/|[?#]/)
      })
    test(`${id}: addresses of results stand in the body where they are replaced`, () => {
      for (const [what, reply, , step = 0] of polls) if (what === 'done') expectPlaces(id, ref, reply, step)
    })
  }
}

const expectPlaces = (id: string, ref: JsonObject, reply: Reply, step: number): void => {
  const { outputs, body } = doneOf(id, ref, reply, step)
  for (const output of outputs) {
    if (!('from' in output) || !('url' in output.from)) continue
    let at: unknown = body
    for (const name of output.at ?? []) at = Reflect.get(Object(at), name)
    expect(at).toEqual(output.from.url)
  }
}
