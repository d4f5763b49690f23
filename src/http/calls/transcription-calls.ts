/** `POST /v1/audio/transcriptions` and `/translations`. Source: OpenAI API reference, "Create transcription", "Create translation". */
import type { Call } from '../../core/call.ts'
import type { Json, JsonBody, JsonObject } from '../../core/json-body.ts'
import type { Product } from '../../core/model.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import { needsTimes, type TranscriptStyle, transcriptStyles } from '../../media/transcript.ts'
import { inputsOf, type ModelNamed, mediaCall, productNamed } from './media-calls.ts'

const OWN = ['response_format', 'timestamp_granularities', 'timestamp_granularities[]', 'stream', 'user']

const styleOf = (format: Json | undefined, product: Product): TranscriptStyle | Refusal => {
  const style = transcriptStyles.find((one) => one === (format ?? 'json'))
  if (style === undefined)
    return invalid('response_format', `'response_format' must be one of ${transcriptStyles.join(', ')}.`)
  return needsTimes(style) && !product.inputs.includes('timestamps')
    ? invalid('response_format', "This model gives no times: 'response_format' must be json or text.")
    : style
}

/** Fields of a form are always strings. */
const numbered = ({ temperature, ...rest }: JsonObject): JsonObject =>
  temperature === undefined || temperature === ''
    ? rest
    : {
        ...rest,
        temperature: typeof temperature === 'string' ? Number(temperature) : temperature,
      }

const wantsWords = (body: JsonObject): boolean => {
  const granularity = body['timestamp_granularities[]'] ?? body.timestamp_granularities
  return Array.isArray(granularity) ? granularity.includes('word') : granularity === 'word'
}

const transcriptionCall =
  (translates: boolean) =>
  (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
    const found = productNamed(body, modelNamed, 'transcription')
    if (found instanceof Refusal) return found
    const { name, product } = found
    const style = styleOf(body.value.response_format, product)
    if (style instanceof Refusal) return style
    if (body.value.stream === true || body.value.stream === 'true')
      return invalid('stream', "Transcripts are not streamed; leave out 'stream'.")
    if (translates && !product.inputs.includes('task'))
      return invalid('model', `'${name}' does not translate; whisper models do.`)
    const inputs = {
      ...numbered(inputsOf(body.value, OWN)),
      ...(translates ? { task: 'translate' } : {}),
      ...(product.inputs.includes('timestamps') && wantsWords(body.value) ? { timestamps: 'word' } : {}),
    }
    return mediaCall(name, body, { product, inputs, results: `transcript_${style}`, flat: true })
  }

export const decodeTranscriptionCall = transcriptionCall(false)

export const decodeTranslationCall = transcriptionCall(true)
