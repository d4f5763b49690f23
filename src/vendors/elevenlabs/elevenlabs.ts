/** ElevenLabs: speech, music and transcription. Source: npm @elevenlabs/elevenlabs-js 2.73.0; prices with each record. */
import { z } from 'zod'
import type { MediaModel, UnpricedModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import {
  countAt,
  heard,
  listAt,
  member,
  numberAt,
  objectOf,
  soundOf,
  spokenIn,
  textAt,
} from '../../media/read-answer.ts'
import type { Inputs, OnceShape, VendorAnswer } from '../../media/shape.ts'
import { bytesAt, fileNameFor } from '../../media/sound-input.ts'
import { mostMs } from '../../media/sound-length.ts'
import { segmentsOf } from '../../media/transcript.ts'
import { listenInputs } from '../listen-inputs.ts'
import { noChat } from '../no-chat.ts'
import { EXAMPLE_SOUND } from '../openai/transcription.ts'
import type { Vendor } from '../vendor.ts'

const formats = z.enum(['mp3_22050_32', 'mp3_44100_64', 'mp3_44100_128']).default('mp3_44100_128')

const isBlocked = ({ status, json }: VendorAnswer): boolean =>
  status === 400 && /^bad_prompt$|moderation|policy/.test(textAt(member(json, 'detail'), 'status') ?? '')

const lettersOf = ({ text }: Inputs): number => String(text).length

/** `perCredit`: how many letters one of the vendor's credits pays for. */
const speech = (perCredit: number): OnceShape => ({
  flow: 'once',
  ask: ({ voice, output_format, ...rest }, model) => ({
    method: 'POST',
    path: `/text-to-speech/${encodeURIComponent(String(voice))}`,
    query: { output_format: String(output_format) },
    body: { json: { ...rest, model_id: model } },
  }),
  read: (answer, inputs) => {
    if (isBlocked(answer)) return { verdict: 'blocked' }
    const credits = countAt({ credits: Number(answer.header('character-cost') ?? Number.NaN) }, 'credits')
    const letters = lettersOf(inputs)
    return soundOf(answer, {
      character: credits === undefined ? letters : Math.min(letters, credits * perCredit),
    })
  },
})

type Speech = {
  readonly name: string
  readonly upstreamName: string
  readonly title: string
  readonly thousand: string
  readonly perCredit: number
  readonly lettersMax: number
}

const speechModel = ({ name, upstreamName, title, thousand, perCredit, lettersMax }: Speech): MediaModel => ({
  name,
  upstreamName,
  category: 'speech',
  title,
  description: 'Speaks a text; billed by its letters.',
  inputs: z.strictObject({
    text: z.string().min(1).max(lettersMax),
    voice: z
      .string()
      .regex(/^\w{10,40}$/, { message: 'must be the id of a voice' })
      .default('21m00Tcm4TlvDq8ikWAM'),
    language_code: z
      .string()
      .regex(/^[a-z]{2}$/)
      .optional(),
    seed: z.int().min(0).max(4_294_967_295).optional(),
    output_format: formats,
  }),
  example: { text: 'Hello from the gateway.' },
  shape: speech(perCredit),
  card: { rows: [{ rates: { character: usd(thousand, 1_000) } }], most: { character: lettersOf } },
  source: 'elevenlabs.io/pricing/api as of May 2026, by hail-hq/hail costs/tts.json',
})

const music: UnpricedModel = {
  name: 'music-v2.5',
  upstreamName: 'music_v2_5',
  category: 'music',
  title: 'Eleven Music v2.5',
  description: 'Makes a piece of music of a given length from a description.',
  inputs: z.strictObject({
    prompt: z.string().min(1).max(4_100),
    music_length_ms: z.int().min(3_000).max(600_000),
    force_instrumental: z.boolean().default(false),
    output_format: formats,
  }),
  example: { prompt: 'calm piano', music_length_ms: 30_000 },
  shape: {
    flow: 'once',
    ask: ({ output_format, ...rest }, model) => ({
      method: 'POST',
      path: '/music',
      query: { output_format: String(output_format) },
      body: { json: { ...rest, model_id: model } },
    }),
    // The length is measured on the stored result.
    read: (answer) => (isBlocked(answer) ? { verdict: 'blocked' } : soundOf(answer)),
  },
  most: { audio_ms: ({ music_length_ms: lengthMs }) => Number(lengthMs) },
  source: 'notes of September 2026 say 0.15 USD a minute, resellers ask 0.60 and more',
}

const listen: OnceShape = {
  flow: 'once',
  ask: ({ file, language, timestamps: _told }, model) => {
    const sound = bytesAt(String(file))
    return {
      method: 'POST',
      path: '/speech-to-text',
      body: {
        form: [
          { name: 'model_id', text: model },
          { name: 'file', file: sound, filename: fileNameFor(sound.mediaType) },
          { name: 'diarize', text: 'false' },
          ...(typeof language === 'string' ? [{ name: 'language_code', text: language }] : []),
        ],
      },
    }
  },
  read: (answer, { timestamps }) => {
    const body = objectOf(answer)
    const text = textAt(body, 'text')
    if (body === undefined || text === undefined) return undefined
    const [language, seconds] = [textAt(body, 'language_code'), numberAt(body, 'audio_duration_secs')]
    const spoken = (listAt(body, 'words') ?? []).filter((one) => textAt(one, 'type') === 'word')
    const words = spokenIn(spoken, 'text')
    const times = { segments: segmentsOf(words), words: timestamps === 'word' ? words : undefined }
    return heard(body, { text, language, seconds, ...times })
  },
}

const scribe: UnpricedModel = {
  name: 'scribe-v2',
  upstreamName: 'scribe_v2',
  category: 'transcription',
  title: 'Scribe v2',
  description: 'Writes down what is said in a recording, with times.',
  inputs: listenInputs,
  example: { file: EXAMPLE_SOUND },
  shape: listen,
  most: { audio_ms: ({ file }) => mostMs(String(file)) + 1000 },
  source: 'price of an hour not verified',
}

const elevenlabsMedia: VendorMedia = {
  unverified: 'bodies of errors, prices of music and transcription',
  models: [
    speechModel({
      name: 'flash-v2.5',
      upstreamName: 'eleven_flash_v2_5',
      title: 'Eleven Flash v2.5',
      thousand: '0.05',
      perCredit: 2,
      lettersMax: 40_000,
    }),
    speechModel({
      name: 'multilingual-v2',
      upstreamName: 'eleven_multilingual_v2',
      title: 'Eleven Multilingual v2',
      thousand: '0.1',
      perCredit: 1,
      lettersMax: 10_000,
    }),
  ],
  waiting: [music, scribe],
}

export const elevenlabs = {
  ...noChat,
  id: 'elevenlabs',
  name: 'ElevenLabs',
  keyVariable: 'ELEVENLABS_API_KEY',
  baseUrl: 'https://api.elevenlabs.io/v1',
  auth: 'xi-api-key',
  media: elevenlabsMedia,
} satisfies Vendor
