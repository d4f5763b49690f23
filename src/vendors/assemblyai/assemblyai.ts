/**
 * AssemblyAI's transcripts. Sources: npm assemblyai 4.41.5; assemblyai.com/docs, "Transcript". The sound is uploaded
 * first, then its transcript is requested. Times of words are in milliseconds.
 */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { heard, listAt, numberAt, objectOf, spokenIn, textAt } from '../../media/read-answer.ts'
import { addressAt, failed, segmentOf } from '../../media/read-job.ts'
import type { JobShape, VendorAnswer, Verdict } from '../../media/shape.ts'
import { bytesAt } from '../../media/sound-input.ts'
import { mostMs } from '../../media/sound-length.ts'
import { segmentsOf } from '../../media/transcript.ts'
import { listenInputs } from '../listen-inputs.ts'
import { noChat } from '../no-chat.ts'
import { EXAMPLE_SOUND } from '../openai/transcription.ts'
import type { Vendor } from '../vendor.ts'

/** Faults of the sound, recognised by the text of the vendor's error. */
const isOfSound = (error: string): boolean =>
  /does not appear to contain audio|no spoken audio|too short|file type|could not be decoded|language/i.test(
    error,
  )

const refusedOf = ({ status, json }: VendorAnswer): Verdict | undefined =>
  status === 400 ? failed(textAt(json, 'error'), 'inputs') : undefined

const wordsOf = (body: JsonObject) =>
  spokenIn(
    (listAt(body, 'words') ?? []).filter(isObject).map((word) => ({
      text: word.text ?? null,
      start: (numberAt(word, 'start') ?? Number.NaN) / 1_000,
      end: (numberAt(word, 'end') ?? Number.NaN) / 1_000,
    })),
    'text',
  )

const completed = (body: JsonObject, withWords: boolean): Verdict => {
  const text = textAt(body, 'text') ?? ''
  const [language, seconds] = [textAt(body, 'language_code'), numberAt(body, 'audio_duration')]
  const words = wordsOf(body)
  const { audio_url: _upload, ...rest } = body
  const times = { segments: segmentsOf(words), words: withWords ? words : undefined }
  return heard(rest, { text, language, seconds, ...times })
}

const shape: JobShape = {
  flow: 'job',
  ask: ({ file }) => {
    const { bytes } = bytesAt(String(file))
    return {
      method: 'POST',
      path: '/v2/upload',
      body: { raw: { bytes, mediaType: 'application/octet-stream' } },
    }
  },
  readRef: (answer, { inputs: { language, timestamps }, upstreamName, job, step }) => {
    const body = objectOf(answer)
    if (step > 0) {
      const id = textAt(body, 'id')
      return id === undefined ? refusedOf(answer) : { ref: { id, words: timestamps === 'word' } }
    }
    const upload = addressAt(body, 'upload_url')
    if (upload === undefined) return refusedOf(answer)
    const json = {
      audio_url: upload,
      speech_models: [upstreamName],
      ...(typeof language === 'string' ? { language_code: language } : { language_detection: true }),
      ...(job.wakeAt === undefined ? {} : { webhook_url: job.wakeAt }),
    }
    return { next: postJson('/v2/transcript', json) }
  },
  poll: (ref) => ({ method: 'GET', path: `/v2/transcript/${segmentOf(ref, 'id')}` }),
  readPoll: (answer, { ref }) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'queued':
      case 'processing':
        return { pending: true }
      case 'completed':
        return completed(body ?? {}, ref.words === true)
      case 'error': {
        const error = textAt(body, 'error') ?? ''
        return failed(error, isOfSound(error) ? 'inputs' : 'vendor')
      }
      default:
        return undefined
    }
  },
  onCancel: 'billed',
  everyMs: 2_000,
  deadlineMs: 3_600_000,
}

const model = (name: string, title: string, description: string, hour: string): MediaModel => ({
  name,
  category: 'transcription',
  title,
  description,
  inputs: listenInputs,
  example: { file: EXAMPLE_SOUND },
  shape,
  card: {
    rows: [{ rates: { audio_ms: usd(hour, 3_600_000) } }],
    // Seconds are rounded up.
    most: { audio_ms: ({ file }) => mostMs(String(file)) + 1_000 },
  },
  source: 'assemblyai.com/pricing, by api-evangelist/assemblyai, 2026-10',
})

const assemblyaiMedia: VendorMedia = {
  unverified: 'texts of errors about the sound, which decide whose fault they are',
  models: [
    model('universal-2', 'Universal-2', 'Writes down what is said in a recording, in 99 languages.', '0.15'),
    model(
      'universal-3-5-pro',
      'Universal-3.5 Pro',
      'Writes down what is said in a recording, at this vendor’s best.',
      '0.21',
    ),
  ],
}

export const assemblyai = {
  ...noChat,
  id: 'assemblyai',
  name: 'AssemblyAI',
  keyVariable: 'ASSEMBLYAI_API_KEY',
  baseUrl: 'https://api.assemblyai.com',
  auth: 'plain',
  media: assemblyaiMedia,
} satisfies Vendor
