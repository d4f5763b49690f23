/**
 * MiniMax: speech, music and images. Its answers are always 200; `base_resp` says what happened. Source:
 * platform.minimax.io, API reference; prices of its page "Pay as You Go" as petehsu/LLM-Docs keeps it (2025-11) and
 * others repeat it (2026-07).
 */
import { z } from 'zod'
import { NOT_READ } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, listAt, member, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressesIn, failed } from '../../media/read-job.ts'
import type { Inputs, OnceShape, VendorAnswer, Verdict } from '../../media/shape.ts'

const BLOCKED = [1026, 1027]
const BAD_INPUTS = [2013]

export const source = 'platform.minimax.io/docs/guides/pricing-paygo, as two others keep it, 2026-07'

/** What went wrong according to the body, or nothing. */
export const refusedBy = (answer: VendorAnswer): Verdict | undefined => {
  const base = member(objectOf(answer), 'base_resp')
  const code = countAt(base, 'status_code')
  if (code === undefined || code === 0) return undefined
  if (BLOCKED.includes(code)) return { verdict: 'blocked' }
  return failed(
    textAt(base, 'status_msg') ?? 'the vendor refused the request',
    BAD_INPUTS.includes(code) ? 'inputs' : 'vendor',
  )
}

const lettersOf = ({ text }: Inputs): number => String(text).length

const speech: OnceShape = {
  flow: 'once',
  ask: ({ text, voice, speed, format }, model) =>
    postJson('/t2a_v2', {
      model,
      text: String(text),
      stream: false,
      voice_setting: { voice_id: String(voice), speed: Number(speed) },
      audio_setting: { format: String(format), sample_rate: 32_000 },
      output_format: 'hex',
    }),
  read: (answer, inputs) => {
    const refused = refusedBy(answer)
    if (refused !== undefined) return refused
    const body = objectOf(answer)
    const hex = textAt(member(body, 'data'), 'audio')
    if (body === undefined || hex === undefined || !/^(?:[0-9a-f]{2})+$/i.test(hex)) return undefined
    const extra = member(body, 'extra_info')
    return {
      verdict: 'done',
      outputs: [{ type: 'audio', from: { bytes: Uint8Array.from(Buffer.from(hex, 'hex')) } }],
      body: { extra_info: extra ?? null },
      measured: { character: countAt(extra, 'usage_characters') ?? lettersOf(inputs) },
    }
  },
}

const music: OnceShape = {
  flow: 'once',
  ask: ({ prompt, lyrics }, model) =>
    postJson('/music_generation', {
      model,
      prompt: String(prompt),
      lyrics: String(lyrics),
      output_format: 'url',
    }),
  read: (answer) => {
    const refused = refusedBy(answer)
    if (refused !== undefined) return refused
    const body = objectOf(answer)
    const url = textAt(member(body, 'data'), 'audio')
    if (body === undefined || url === undefined || !url.startsWith('https://')) return undefined
    const ms = numberAt(member(body, 'extra_info'), 'music_duration')
    return {
      verdict: 'done',
      outputs: [
        {
          type: 'audio',
          from: { url },
          at: ['data', 'audio'],
          ...(ms === undefined ? {} : { meta: { seconds: ms / 1000 } }),
        },
      ],
      body,
      measured: { song: 1 },
    }
  },
}

const picture: OnceShape = {
  flow: 'once',
  ask: (inputs, model) => postJson('/image_generation', { model, ...inputs, response_format: 'url' }),
  read: (answer, { n }) => {
    const refused = refusedBy(answer)
    if (refused !== undefined) return refused
    const body = objectOf(answer)
    const urls = addressesIn(listAt(member(body, 'data'), 'image_urls'))
    if (body === undefined || urls.length === 0)
      return answer.status >= 200 && answer.status < 300 ? NOT_READ : undefined
    const kept = urls.slice(0, Number(n))
    return {
      verdict: 'done',
      outputs: kept.map((url, index) => ({
        type: 'image',
        from: { url },
        at: ['data', 'image_urls', index],
      })),
      body: { ...body, data: { image_urls: kept } },
      measured: { image: kept.length },
    }
  },
}

const speechModel = (name: string, title: string, million: string): MediaModel => ({
  name,
  category: 'speech',
  title,
  description: 'Speaks a text; billed by its letters.',
  inputs: z.strictObject({
    text: z.string().min(1).max(10_000),
    voice: z
      .string()
      .regex(/^[\w ()-]{1,100}$/)
      .default('English_expressive_narrator'),
    speed: z.number().min(0.5).max(2).default(1),
    format: z.enum(['mp3', 'wav', 'flac']).default('mp3'),
  }),
  example: { text: 'Hello from the gateway.' },
  shape: speech,
  card: {
    rows: [{ rates: { character: usd(million, 1_000_000) } }],
    // A Han character counts as two letters.
    most: { character: (inputs) => lettersOf(inputs) * 2 },
  },
  source,
})

export const minimaxMedia: VendorMedia = {
  unverified:
    'status codes other than 0, bodies of speech, music and pictures, that the fast films need a picture',
  models: [
    speechModel('speech-2.6-hd', 'MiniMax Speech 2.6 HD', '100'),
    speechModel('speech-2.6-turbo', 'MiniMax Speech 2.6 Turbo', '60'),
    {
      name: 'music-2.0',
      category: 'music',
      title: 'MiniMax Music 2.0',
      description: 'Makes a song of up to five minutes from a description and its words.',
      inputs: z.strictObject({
        prompt: z.string().min(10).max(2_000),
        lyrics: z.string().min(10).max(3_000),
      }),
      example: { prompt: 'calm piano ballad', lyrics: '[verse]\nThe gate is open wide' },
      shape: music,
      card: { rows: [{ rates: { song: usd('0.03') } }], most: { song: () => 1 } },
      source,
    },
    {
      name: 'image-01',
      category: 'image',
      title: 'MiniMax Image 01',
      description: 'Pictures from text; one price a picture.',
      inputs: z.strictObject({
        prompt: z.string().min(1).max(1_500),
        aspect_ratio: z.enum(['1:1', '16:9', '4:3', '3:2', '2:3', '3:4', '9:16', '21:9']).default('1:1'),
        n: z.int().min(1).max(9).default(1),
        prompt_optimizer: z.boolean().default(false),
      }),
      example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
      shape: picture,
      card: { rows: [{ rates: { image: usd('0.0035') } }], most: { image: ({ n }) => Number(n) } },
      source,
    },
  ],
  waiting: [
    { name: 'music-2.6, music-3.0', why: 'only one other publishes their price' },
    { name: 'MiniMax-H3', why: 'it needs another version of the API, which we have not worked out' },
  ],
}
