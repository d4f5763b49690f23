/**
 * Fireworks' batches: a data set of lines in the operator's account, a job of one model that reads it, and a data set of
 * results, which are fetched at addresses that the vendor signs. Sources: Fireworks docs, "Batch API" and the references of
 * datasets and batch inference jobs (fw-ai-external/python-sdk, `batch_inference_jobs`, `datasets`), read in November 2026; what they leave
 * open is as others recorded it in public on 2026-08-30: a count of lines is needed, an answer stands bare in its line. Not verified:
 * how a failed line is told, and what is left of a job that was deleted, which is the only way to cancel.
 */
import { isObject, readJsonBody, splice } from '../../core/json-body.ts'
import { must } from '../../core/refusal.ts'
import { postJson } from '../../media/post-json.ts'
import { objectOf, textAt } from '../../media/read-answer.ts'
import type { Outgoing } from '../../media/shape.ts'
import { fireworksName } from '../fireworks/wire-name.ts'
import { jsonLines, type NewPart, usualPart, type VendorBatchForm } from './vendor-batch.ts'

/** Where results are, by addresses that need no key. */
const RESULTS_HOST = 'storage.googleapis.com'
const PAUSE_MS = 1_000
/** States in which a job has ended, or soon will be gone. */
const ENDED = /^JOB_STATE_(?:COMPLETED|FAILED|EXPIRED|EARLY_STOPPED|CANCELLED|ARCHIVED|DELET.*)$/

/** Names there are of small letters, digits and hyphens, and begin with a letter. */
const nameOf = (id: string): string => `turnpike-${id.toLowerCase().replace(/[^a-z0-9-]/g, '-')}`
const accountOf = (named: string): string => `/accounts/${encodeURIComponent(named)}`
const dataSetOf = ({ id, named }: NewPart): string => `${accountOf(named)}/datasets/${nameOf(id)}`

const upload = (part: NewPart): Outgoing => {
  const bytes = jsonLines(part.calls, (id) => `{"custom_id":${id},"body":`)
  const file = { bytes, mediaType: 'application/jsonl' }
  const form = [{ name: 'file', filename: `${nameOf(part.id)}.jsonl`, file }]
  return { method: 'POST', path: `${dataSetOf(part)}:upload`, body: { form } }
}

const job = (part: NewPart): Outgoing => ({
  method: 'POST',
  path: `${accountOf(part.named)}/batchInferenceJobs`,
  query: { batchInferenceJobId: nameOf(part.id) },
  body: { json: { model: fireworksName(part.upstreamName), inputDatasetId: dataSetOf(part).slice(1) } },
})

export const fireworksBatches: VendorBatchForm = {
  ...usualPart,
  takes: (path) => path === '/chat/completions',
  // The job names the model.
  inPart: (body) => splice(must(readJsonBody(body)), { model: undefined }),
  submit: ({ id, named, calls }) =>
    postJson(`${accountOf(named)}/datasets`, {
      datasetId: nameOf(id),
      dataset: { userUploaded: {}, exampleCount: String(calls.length) },
    }),
  readSubmitted: (answer, part, step) => {
    const body = objectOf(answer)
    if (body === undefined) return undefined
    if (step === 0) return { next: upload(part) }
    const look = { method: 'GET', path: dataSetOf(part) } as const
    if (step === 1) return { next: look }
    if (typeof body.name !== 'string') return undefined
    if (body.name.includes('/batchInferenceJobs/')) return body.name
    return body.state === 'READY' ? { next: job(part) } : { next: look, pauseMs: PAUSE_MS }
  },
  newest: ({ id, named }) => ({
    method: 'GET',
    path: `${accountOf(named)}/batchInferenceJobs/${nameOf(id)}`,
  }),
  found: (answer) => textAt(objectOf(answer), 'name'),
  poll: (ref) => ({ method: 'GET', path: `/${ref}` }),
  readPoll: (answer) => {
    const { state, outputDatasetId } = objectOf(answer) ?? {}
    if (typeof state !== 'string') return undefined
    if (!ENDED.test(state)) return 'running'
    return typeof outputDatasetId === 'string' && outputDatasetId !== ''
      ? { next: { method: 'GET', path: `/${outputDatasetId}:getDownloadEndpoint` } }
      : { files: [], lines: [] }
  },
  readPlaces: (answer) => {
    // A job that failed has no results.
    if (answer.status === 404) return { files: [], lines: [] }
    const urls = objectOf(answer)?.filenameToSignedUrls
    if (!isObject(urls)) return undefined
    const files = Object.values(urls).filter((url) => typeof url === 'string')
    return { files: files.map((path) => ({ method: 'GET', path, signedAt: RESULTS_HOST })), lines: [] }
  },
  readResult: ({ custom_id: id, response, error }) => {
    if (typeof id !== 'string') return undefined
    if (isObject(response)) return { id, status: 200, body: response }
    if (error === undefined || error === null) return undefined
    const code = isObject(error) ? error.code : undefined
    const refused = typeof code === 'string' && /^invalid/i.test(code)
    return { id, status: refused ? 400 : 500, body: { error: isObject(error) ? error : { message: error } } }
  },
  cancel: (ref) => ({ method: 'DELETE', path: `/${ref}` }),
}
