/**
 * Vertex AI's batches of Gemini: jobs that read lines from a bucket of Cloud Storage and write results there, in no order. A result
 * has its request beside it, so a line is found by a label of the request. Sources: Vertex AI, "Batch inference from Cloud Storage"
 * and REST reference, "projects.locations.batchPredictionJobs", read in November 2026. Not verified: that the request stands in
 * each result with its labels, which BerriAI/litellm and maximhq/bifrost match lines by, and the words of a line's error, which is
 * a text.
 */
import { isObject, readJsonBody, splice } from '../../core/json-body.ts'
import { must } from '../../core/refusal.ts'
import { cloudStorage } from './bucket.ts'
import { bucketForm, within } from './bucket-form.ts'
import { joined } from './vendor-batch.ts'

const JOBS = '/batchPredictionJobs'
const LABEL = 'turnpike_line'

/** The request with its line as a label, beside those of the caller. */
const labelled = (body: Uint8Array, id: string): Uint8Array => {
  const read = must(readJsonBody(body))
  const { labels } = read.value
  return splice(read, { labels: JSON.stringify({ ...(isObject(labels) ? labels : {}), [LABEL]: id }) })
}

const ENDED = ['SUCCEEDED', 'PARTIALLY_SUCCEEDED', 'FAILED', 'CANCELLED', 'EXPIRED']

export const vertexBatches = bucketForm({
  storage: cloudStorage,
  takes: (path) => path.endsWith(':generateContent'),
  lines: ({ calls }) => joined(calls.flatMap(({ id, body }) => ['{"request":', labelled(body, id), '}\n'])),
  jobs: JOBS,
  newest: (id) => ({ path: JOBS, query: { filter: `displayName="${id}"` } }),
  create: ({ id, upstreamName }, { input, output }) => ({
    displayName: id,
    model: `publishers/google/models/${upstreamName}`,
    inputConfig: { instancesFormat: 'jsonl', gcsSource: { uris: [input] } },
    outputConfig: { predictionsFormat: 'jsonl', gcsDestination: { outputUriPrefix: output } },
  }),
  named: ({ name }) => (typeof name === 'string' ? name.split('/').at(-1) : undefined),
  listed: (answer) => answer.batchPredictionJobs,
  isOurs: ({ displayName }, id) => displayName === id,
  state: ({ state }) => state,
  ended: ENDED.map((name) => `JOB_STATE_${name}`),
  output: (job) => within(job, 'outputConfig', 'gcsDestination', 'outputUriPrefix'),
  isResult: (name) => name.endsWith('.jsonl'),
  readResult: ({ request, response, status }) => {
    const id = within(request, 'labels', LABEL)
    if (typeof id !== 'string') return undefined
    if (isObject(response) && Object.keys(response).length > 0) return { id, status: 200, body: response }
    if (typeof status !== 'string' || status === '') return undefined
    const refused = /bad request|INVALID_ARGUMENT/i.test(status)
    return { id, status: refused ? 400 : 500, body: { error: { message: status } } }
  },
  cancel: (ref) => ({ method: 'POST', path: `${JOBS}/${ref}:cancel` }),
})
