/**
 * Amazon Bedrock's batches: jobs that read lines from a bucket and write results there, of models as Converse has them. Sources:
 * Amazon Bedrock API reference, "CreateModelInvocationJob", "GetModelInvocationJob", "ListModelInvocationJobs",
 * "StopModelInvocationJob"; user guide, "Format and upload your batch inference data" and "Quotas", read in November 2026. Not
 * verified: that an id of a record may be longer than the eleven characters of the guide's examples, which others send too, and
 * that a record's error has the status of its call as `errorCode`, as others recorded it in public in August 2026.
 */
import { isObject } from '../../core/json-body.ts'
import { s3 } from './bucket.ts'
import { bucketForm, within } from './bucket-form.ts'
import { jsonLines } from './vendor-batch.ts'

const JOBS = '/model-invocation-job'
/** The smallest job of every model. Source: Amazon Bedrock quotas, "Minimum number of records per batch inference job". */
const CALLS_LEAST = 100
/** The shortest that a job can be given. */
const HOURS = 24

/** What a part is filled up with that has too few lines, as when the last ones of a batch or lost ones are sent: a word in, a token out. */
const FILLING = JSON.stringify({
  messages: [{ role: 'user', content: [{ text: 'a' }] }],
  inferenceConfig: { maxTokens: 1 },
})

export const bedrockBatches = bucketForm({
  storage: s3,
  callsLeast: CALLS_LEAST,
  takes: (path) => path.endsWith('/converse'),
  lines: ({ calls }) => {
    const fillings = Array.from({ length: Math.max(0, CALLS_LEAST - calls.length) }, (_, n) => ({
      ...{ id: `filling-${n}`, body: FILLING },
    }))
    return jsonLines([...calls, ...fillings], (id) => `{"recordId":${id},"modelInput":`)
  },
  jobs: JOBS,
  newest: (id) => ({ path: `${JOBS}s`, query: { nameContains: id } }),
  create: ({ id, upstreamName, bucket }, { input, output }) => ({
    jobName: id,
    // The same request makes no second job.
    clientRequestToken: id,
    modelId: upstreamName,
    modelInvocationType: 'Converse',
    roleArn: bucket?.role ?? '',
    inputDataConfig: { s3InputDataConfig: { s3InputFormat: 'JSONL', s3Uri: input } },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: output } },
    timeoutDurationInHours: HOURS,
  }),
  named: ({ jobArn }) => (typeof jobArn === 'string' ? jobArn.split('/').at(-1) : undefined),
  listed: (answer) => answer.invocationJobSummaries,
  isOurs: ({ jobName }, id) => jobName === id,
  state: ({ status }) => status,
  ended: ['Completed', 'PartiallyCompleted', 'Failed', 'Stopped', 'Expired'],
  output: (job) => within(job, 'outputDataConfig', 's3OutputDataConfig', 's3Uri'),
  isResult: (name) => name.endsWith('.jsonl.out'),
  readResult: ({ recordId: id, modelOutput, error }) => {
    if (typeof id !== 'string') return undefined
    if (isObject(modelOutput)) return { id, status: 200, body: modelOutput }
    if (!isObject(error)) return undefined
    const { errorCode, errorMessage } = error
    return { id, status: Number(errorCode) === 400 ? 400 : 500, body: { message: errorMessage ?? '' } }
  },
  cancel: (ref) => ({ method: 'POST', path: `${JOBS}/${ref}/stop` }),
})
