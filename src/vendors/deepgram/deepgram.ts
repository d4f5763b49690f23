/** Deepgram: speech and transcription. Source: npm @deepgram/sdk 5.13.0; prices with each record. */
import { z } from 'zod'
import type { VendorMedia } from '../../media/product.ts'
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
import type { Inputs, OnceShape } from '../../media/shape.ts'
import { bytesAt, soundInput } from '../../media/sound-input.ts'
import { mostMs } from '../../media/sound-length.ts'
import { segmentsOf } from '../../media/transcript.ts'
import { noChat } from '../no-chat.ts'
import { EXAMPLE_SOUND } from '../openai/transcription.ts'
import type { Vendor } from '../vendor.ts'

const lettersOf = ({ text }: Inputs): number => String(text).length

const speech: OnceShape = {
  flow: 'once',
  ask: ({ text, voice, format }, model) => ({
    method: 'POST',
    path: '/speak',
    query: { model: `${model}-${voice}`, encoding: String(format) },
    body: { json: { text: String(text) } },
  }),
  read: (answer, inputs) => {
    const counted = countAt({ counted: Number(answer.header('dg-char-count') ?? Number.NaN) }, 'counted')
    return soundOf(answer, { character: Math.min(lettersOf(inputs), counted ?? Number.MAX_SAFE_INTEGER) })
  },
}

const listen: OnceShape = {
  flow: 'once',
  ask: ({ file, language, smart_format }, model) => ({
    method: 'POST',
    path: '/listen',
    query: { model, language: String(language), smart_format: String(smart_format) },
    body: { raw: bytesAt(String(file)) },
  }),
  read: (answer, { language, timestamps }) => {
    const body = objectOf(answer)
    const said = member(listAt(member(body, 'results'), 'channels')?.[0], 'alternatives')
    const best = Array.isArray(said) ? said[0] : undefined
    const text = textAt(best, 'transcript')
    if (body === undefined || text === undefined) return undefined
    const seconds = numberAt(member(body, 'metadata'), 'duration')
    const words = spokenIn(listAt(best, 'words'), 'punctuated_word', 'word')
    const times = { segments: segmentsOf(words), words: timestamps === 'word' ? words : undefined }
    return heard(body, { text, language: String(language), seconds, ...times })
  },
}

const deepgramMedia: VendorMedia = {
  unverified: 'prices of today',
  models: [
    {
      name: 'nova-3',
      category: 'transcription',
      title: 'Nova-3',
      description:
        'Writes down what is said in a recording, with times; the language `multi` follows several.',
      inputs: z.strictObject({
        file: soundInput,
        language: z
          .string()
          .regex(/^[a-z]{2,5}(?:-[A-Za-z]{2,4})?$/)
          .default('en'),
        smart_format: z.boolean().default(true),
        timestamps: z.enum(['segment', 'word']).default('segment'),
      }),
      example: { file: EXAMPLE_SOUND },
      shape: listen,
      card: {
        rows: [
          { when: { language: 'multi' }, rates: { audio_ms: usd('0.0092', 60_000) } },
          { rates: { audio_ms: usd('0.0077', 60_000) } },
        ],
        most: { audio_ms: ({ file }) => mostMs(String(file)) + 1000 },
      },
      source:
        'deepgram.com/pricing as of 1 August 2026 (recordings, not streams), by D3velop-llc/open-gauntlet-leaderboard',
    },
  ],
  waiting: [
    {
      name: 'aura-2',
      category: 'speech',
      title: 'Aura-2',
      description: 'Speaks a text; billed by its letters.',
      inputs: z.strictObject({
        text: z.string().min(1).max(2_000),
        voice: z
          .string()
          .regex(/^[a-z]{2,20}-[a-z]{2}$/, { message: 'must be a name and a language, such as thalia-en' })
          .default('thalia-en'),
        format: z.enum(['mp3', 'flac', 'aac']).default('mp3'),
      }),
      example: { text: 'Hello from the gateway.' },
      shape: speech,
      most: { character: lettersOf },
      source: 'price not verified: its only source gave the price of streams for that of recordings',
    },
  ],
}

export const deepgram = {
  ...noChat,
  id: 'deepgram',
  name: 'Deepgram',
  keyVariable: 'DEEPGRAM_API_KEY',
  baseUrl: 'https://api.deepgram.com/v1',
  auth: 'Token',
  media: deepgramMedia,
} satisfies Vendor
