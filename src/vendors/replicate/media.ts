/**
 * How to ask Replicate's official image models. Source: npm replicate 1.4.0. They are billed by what they make. A
 * filter shows only in the text of a failure. Not verified: the bodies of errors.
 */
import type { Json } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import { listAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import { addressesIn, BLOCKED, begunAt, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { JobShape, VendorAnswer, Verdict } from '../../media/shape.ts'

const urlsOf = (output: Json | undefined): readonly string[] =>
  addressesIn(Array.isArray(output) ? output : [output ?? null])

const isBlocked = (error: string): boolean => /nsfw|sensitive|safety|moderat|content policy/i.test(error)

/** A wrong input is named by its field; a 402 or 429 is left to the usual reading. */
const refusedOf = ({ status, json }: VendorAnswer): Verdict | undefined =>
  status === 422 && listAt(json, 'invalid_fields') !== undefined
    ? failed(textAt(json, 'detail'), 'inputs')
    : undefined

export const replicateShape: JobShape = {
  flow: 'job',
  ask: (inputs, model, { wakeAt }) =>
    postJson(`/models/${model}/predictions`, {
      input: inputs,
      ...(wakeAt === undefined ? {} : { webhook: wakeAt, webhook_events_filter: ['completed'] }),
    }),
  readRef: (answer) => begunAt(objectOf(answer)) ?? refusedOf(answer),
  poll: (ref) => ({ method: 'GET', path: `/predictions/${segmentOf(ref, 'id')}` }),
  readPoll: (answer) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'starting':
      case 'processing':
        return { pending: true }
      case 'succeeded': {
        const urls = urlsOf(member(body, 'output'))
        if (body === undefined || urls.length === 0) return failed('the result has no address')
        // It repeats the prompt, and addresses that need the vendor's key.
        const { input: _given, urls: _addresses, logs: _logs, ...rest } = body
        return jobDone(
          urls.map((url, index) => outputAt('image', url, ['output', index])),
          { ...rest, output: urls },
          { image: urls.length },
        )
      }
      case 'failed': {
        const error = textAt(body, 'error') ?? ''
        return isBlocked(error) ? BLOCKED : failed(error)
      }
      case 'canceled':
      case 'aborted':
        return { verdict: 'cancelled' }
      default:
        return undefined
    }
  },
  cancel: (ref) => ({ method: 'POST', path: `/predictions/${segmentOf(ref, 'id')}/cancel` }),
  onCancel: 'free',
  everyMs: 1_000,
  deadlineMs: 1_800_000,
}
