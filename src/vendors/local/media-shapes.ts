/**
 * How to ask the built-in products and read their answers. Bodies are JSON with the record's own inputs; see
 * transport/local-media.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { NOT_READ } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { Inputs, JobShape, OnceShape, Output, VendorAnswer, Verdict } from '../../media/shape.ts'

const ask = (inputs: Inputs, name: string) => postJson(`/media/${name}`, inputs)

/** The text of the built-in vendor's error; undefined if it is not about the inputs. */
const refused = ({ status, json }: VendorAnswer): Verdict | undefined => {
  const error = isObject(json) && isObject(json.error) ? json.error : {}
  const message = typeof error.message === 'string' ? error.message : 'the inputs were refused'
  return status === 400 ? { verdict: 'failed', fault: 'inputs', message } : undefined
}

type Measure = (inputs: Inputs, body: JsonObject) => Usage

/** Once: a JSON answer, read by `read`. */
const answersJson = (read: (body: JsonObject, inputs: Inputs) => Verdict): OnceShape => ({
  flow: 'once',
  ask,
  read: (answer, inputs) =>
    answer.status === 200 ? (isObject(answer.json) ? read(answer.json, inputs) : NOT_READ) : refused(answer),
})

const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

/** Images in base64, each in a member of `images`, which our address replaces. */
const picturesOf = (body: JsonObject): Verdict => {
  const images = list(body.images).filter(isObject)
  const outputs = images.flatMap(({ b64_json }, index): Output[] =>
    typeof b64_json === 'string'
      ? [{ type: 'image', from: { base64: b64_json }, at: ['images', index, 'url'] }]
      : [],
  )
  const shown = images.map(({ width, height }) => ({ url: null, width, height }))
  return outputs.length === 0
    ? NOT_READ
    : {
        verdict: 'done',
        outputs,
        body: { ...body, images: shown },
        measured: { image: outputs.length },
      }
}

export const pictures = answersJson(picturesOf)

/** A text in `text`, with any other facts. */
export const text = (measure: Measure): OnceShape =>
  answersJson((body, inputs) =>
    typeof body.text === 'string'
      ? {
          verdict: 'done',
          outputs: [{ type: 'text', text: body.text }],
          body,
          measured: measure(inputs, body),
        }
      : NOT_READ,
  )

/** Facts about the inputs. */
export const facts = (measure: Measure): OnceShape =>
  answersJson((body, inputs) => ({
    verdict: 'done',
    outputs: [{ type: 'json', value: body }],
    body,
    measured: measure(inputs, body),
  }))

/** The bytes of a sound or film, with the type of the answer. */
export const bytes = (measure: (inputs: Inputs) => Usage): OnceShape => ({
  flow: 'once',
  ask,
  read: (answer, inputs) => {
    if (answer.status !== 200) return refused(answer)
    const mediaType = answer.header('content-type') ?? ''
    const type = mediaType.startsWith('video/') ? 'video' : 'audio'
    const output: Output = { type, from: { bytes: answer.bytes }, at: [type, 'url'] }
    return {
      verdict: 'done',
      outputs: [output],
      body: { [type]: { url: null, media_type: mediaType } },
      measured: measure(inputs),
    }
  },
})

const jobPath = (name: string, ref: JsonObject): string =>
  `/media/${name}/${encodeURIComponent(typeof ref.job === 'string' ? ref.job : '')}`

/** A job of the named product, which is polled until it has ended. */
export const job = (name: string): JobShape => ({
  flow: 'job',
  ask,
  readRef: (answer) => {
    if (answer.status !== 202) return refused(answer)
    const { json } = answer
    return isObject(json) && typeof json.id === 'string' ? { ref: { job: json.id } } : NOT_READ
  },
  poll: (ref) => ({ method: 'GET', path: jobPath(name, ref) }),
  readPoll: (answer) => {
    if (answer.status !== 200) return refused(answer)
    const body = isObject(answer.json) ? answer.json : {}
    if (body.status === 'running')
      return { pending: true, ...(typeof body.progress === 'number' ? { progress: body.progress } : {}) }
    if (body.status === 'succeeded') return picturesOf(body)
    if (body.status === 'blocked') return { verdict: 'blocked' }
    if (body.status === 'cancelled') return { verdict: 'cancelled' }
    const message = typeof body.message === 'string' ? body.message : 'the job failed'
    return { verdict: 'failed', fault: 'vendor', message }
  },
  cancel: (ref) => ({ method: 'DELETE', path: jobPath(name, ref) }),
  onCancel: 'free',
  everyMs: 1_000,
  deadlineMs: 900_000,
})
