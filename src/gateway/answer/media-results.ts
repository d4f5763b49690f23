/** The last bytes of an answer that is not chat, in the form its caller asked for. */

import type { StoredAsset } from '../../assets/assets.ts'
import type { Call, MediaAsk, ResultStyle } from '../../core/call.ts'
import { concat, type Json, type JsonObject, present } from '../../core/json-body.ts'
import { type Bill, withBalance, withBill } from '../../dialects/bill-members.ts'
import { geminiUsage } from '../../dialects/gemini/reply.ts'
import type { Done, Output } from '../../media/shape.ts'
import { type Transcript, verboseOf, writtenAs } from '../../media/transcript.ts'
import { bodyHash } from '../../receipts/claims.ts'
import type { Charge, LastBytes } from './settle.ts'
import { STREAM_HEADERS } from './stream-images.ts'

/** An output as its caller sees it. */
export type ShownOutput = StoredAsset | Extract<Output, { type: 'text' | 'json' }>

/** The call that the results belong to. */
type CallRef = {
  readonly call: Pick<Call, 'modelName'> & { readonly media?: Pick<MediaAsk, 'results'> }
  readonly trace: { readonly callId: string }
}

export type Results = {
  readonly done: Pick<Done, 'outputs' | 'body' | 'transcript'>
  /** In the order of the outputs. */
  readonly shown: readonly ShownOutput[]
  /** The assets' bytes, in order, if the form contains them. */
  readonly bytes: readonly Uint8Array[]
  /** Seconds since 1970. */
  readonly createdS: number
  /** What a stream has already shown. */
  readonly preview?: readonly Uint8Array[]
  /** Further members of a job's answer. */
  readonly more?: JsonObject
}

/** Whether the form of the results contains their bytes. */
export const containsBytes = (results: ResultStyle | undefined): boolean =>
  results !== undefined && (FORMS_WITH_BYTES.includes(results) || results.endsWith('_events'))

const FORMS_WITH_BYTES: readonly string[] = ['images_base64', 'bytes', 'gemini_content', 'gemini_predictions']

const isAsset = (one: ShownOutput): one is StoredAsset => 'url' in one

/** The output without the members that only we use. */
const publicOutput = (one: ShownOutput): Json => {
  if (!isAsset(one))
    return one.type === 'text' ? { type: 'text', text: one.text } : { type: 'json', value: one.value }
  const { id: _id, sha256: _hash, ...rest } = one
  return rest
}

export const written = (task: CallRef, results: Results, charge: Charge): LastBytes => {
  switch (task.call.media?.results) {
    case 'bytes':
      return asBytes(results, charge)
    case 'image_generation_events':
    case 'image_edit_events':
      return asEvents(task.call.media?.results, results, charge)
    case 'transcript_text':
      return asText(writtenAs(transcriptOf(results), 'text'), charge)
    case 'transcript_srt':
      return asText(writtenAs(transcriptOf(results), 'srt'), charge)
    case 'transcript_vtt':
      return asText(writtenAs(transcriptOf(results), 'vtt'), charge)
    default:
      return asJson(task, results, charge)
  }
}

/** The transcript; for a vendor that gives no times, only its text. */
const transcriptOf = ({ done }: Results): Transcript => {
  const texts = done.outputs.flatMap((one) => (one.type === 'text' ? [one.text] : []))
  return done.transcript ?? { text: texts.join('\n'), segments: [] }
}

/** A whole answer of these bytes. */
const whole = (
  { bytes, mediaType }: { readonly bytes: Uint8Array; readonly mediaType: string },
  bill: Bill,
): LastBytes => ({
  hash: () => bodyHash(bytes),
  bytes: () => bytes,
  text: (sent) => decoder.decode(sent),
  remembered: () => undefined,
  headers: (receipt) => headersFor(mediaType, bill, receipt),
})

const asJson = (task: CallRef, results: Results, { usage, bill }: Charge): LastBytes => {
  const text = JSON.stringify(bodyFor(task, results))
  const [name, counts] =
    task.call.media?.results === 'gemini_content'
      ? ['usageMetadata', results.done.body.usageMetadata ?? geminiUsage(usage)]
      : ['usage', usageOf(results, usage)]
  const bytes = encoder.encode(`${text.slice(0, -1)},"${name}":${withBill(Object(counts), bill)}}`)
  const mediaType = 'application/json'
  return { ...whole({ bytes, mediaType }, bill), bytes: (balance) => withBalance(bytes, balance) }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const headersFor = (type: string, bill: Bill, receipt: string | undefined) => ({
  'content-type': type,
  ...present({ 'x-cost-usd': bill.cost, 'x-receipt': receipt }),
})

const usageOf = ({ done }: Results, usage: object): object => {
  const { usage: reported } = done.body
  return typeof reported === 'object' && reported !== null && !Array.isArray(reported) ? reported : usage
}

const bodyFor = (task: CallRef, results: Results): JsonObject => {
  const { done, shown, bytes, createdS } = results
  const { call, trace } = task
  const assets = shown.filter(isAsset)
  const urls = assets.map(({ url }) => url)
  switch (call.media?.results) {
    case 'image_url':
      return { image_url: urls[0] ?? null, images: urls, model: call.modelName, id: trace.callId }
    case 'images_url':
      return { created: createdS, data: urls.map((url) => ({ url })) }
    case 'images_base64':
      return {
        created: createdS,
        data: bytes.map((one) => ({ b64_json: Buffer.from(one).toString('base64') })),
      }
    case 'gemini_content':
      return contentOf(task, results)
    case 'gemini_predictions':
      return {
        predictions: inlineOf(results).map(({ data, mimeType }) => ({ mimeType, bytesBase64Encoded: data })),
      }
    case 'gemini_operation':
      return operationOf(call.modelName, trace.callId, assets)
    case 'transcript_json':
      return { text: transcriptOf(results).text }
    case 'transcript_verbose_json':
      return verboseOf(transcriptOf(results))
    case 'plain': {
      const { usage: _usage, ...body } = done.body
      return { ...body, model: call.modelName }
    }
    default: {
      const { usage: _usage, ...body } = withAddresses(done.body, done.outputs, shown)
      const own = { id: trace.callId, object: 'run', model: call.modelName }
      return { ...body, ...own, ...results.more, outputs: shown.map(publicOutput) }
    }
  }
}

/** The images, with their bytes. */
const inlineOf = ({ shown, bytes }: Results) =>
  shown.filter(isAsset).map(({ media_type }, index) => ({
    mimeType: media_type,
    data: Buffer.from(bytes[index] ?? []).toString('base64'),
  }))

const contentOf = ({ call, trace }: CallRef, results: Results): JsonObject => {
  const texts = results.shown.flatMap((one) =>
    isAsset(one) || one.type !== 'text' ? [] : [{ text: one.text }],
  )
  const parts = [...texts, ...inlineOf(results).map((inlineData) => ({ inlineData }))]
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    modelVersion: call.modelName,
    responseId: trace.callId,
  }
}

/** A long-running operation as Vertex AI names it: `publishers/<vendor>/models/<model>/operations/<id>`. */
export const operationName = (modelName: string, id: string): string =>
  `publishers/${modelName.replace('/', '/models/')}/operations/${id}`

/** A finished operation: films are given by their addresses, whatever their size. */
const operationOf = (modelName: string, id: string, films: readonly StoredAsset[]): JsonObject => ({
  name: operationName(modelName, id),
  done: true,
  response: { videos: films.map(({ url, media_type }) => ({ gcsUri: url, mimeType: media_type })) },
})

/** The vendor's body, with our addresses in place of its own. */
const withAddresses = (
  body: JsonObject,
  outputs: readonly Output[],
  shown: readonly ShownOutput[],
): JsonObject => {
  const copy: Record<string, Json | undefined> = structuredClone(body)
  for (const [index, output] of outputs.entries()) {
    const one = shown[index]
    if ('from' in output && output.at !== undefined && one !== undefined && isAsset(one))
      replaceAt(copy, output.at, one.url)
  }
  return copy
}

const replaceAt = (root: object, path: readonly (string | number)[], value: Json): void => {
  let at: unknown = root
  for (const step of path.slice(0, -1)) at = Reflect.get(Object(at), step)
  const last = path.at(-1)
  if (typeof at === 'object' && at !== null && last !== undefined) Reflect.set(at, last, value)
}

/** The first result itself; its bill fits only into the headers. */
const asBytes = ({ shown, bytes: all }: Results, { bill }: Charge): LastBytes => {
  const bytes = all[0] ?? new Uint8Array()
  const mediaType = shown.find(isAsset)?.media_type ?? 'application/octet-stream'
  return { ...whole({ bytes, mediaType }, bill), text: () => Buffer.from(bytes).toString('base64') }
}

/** An event for each image, as OpenAI's API ends its streams; the last one contains the bill. */
const asEvents = (style: string, results: Results, { usage, bill }: Charge): LastBytes => {
  const { shown, bytes: all, done, preview = [] } = results
  const { data: _pictures, created: _created, usage: _usage, ...said } = done.body
  const assets = shown.filter(isAsset)
  const pictures = assets.map(
    ({ media_type, width, height }, index): JsonObject => ({
      type: style.replace('_events', '.completed'),
      b64_json: Buffer.from(all[index] ?? []).toString('base64'),
      created_at: results.createdS,
      output_format: media_type.replace('image/', ''),
      ...(width === undefined ? {} : { size: `${width}x${height}` }),
      ...said,
    }),
  )
  const billed = `,"usage":${withBill(usageOf(results, usage), bill)}}`
  const texts = pictures.map((one, index) => {
    const text = JSON.stringify(one)
    const whole = index === pictures.length - 1 ? text.slice(0, -1) + billed : text
    return `event: ${one.type}\ndata: ${whole}\n\n`
  })
  const last = encoder.encode(texts.join(''))
  return {
    hash: () => bodyHash(concat([...preview, last])),
    bytes: () => last,
    text: () => decoder.decode(concat([...preview, last])),
    remembered: () => undefined,
    headers: () => STREAM_HEADERS,
  }
}

/** A text; its bill fits only into the headers. */
const asText = (
  { text, mediaType }: { readonly text: string; readonly mediaType: string },
  { bill }: Charge,
): LastBytes => whole({ bytes: encoder.encode(text), mediaType }, bill)
