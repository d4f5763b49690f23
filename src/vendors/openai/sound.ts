/** OpenAI's speech, transcription and moderation. Sources: OpenAI API reference, "Create speech", "Create transcription", "Create moderation"; prices with each record. */
import { z } from 'zod'
import { parseJson } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, jsonDone, listAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import type { Inputs, OnceShape } from '../../media/shape.ts'
import { mostMs } from '../../media/sound-length.ts'
import { EXAMPLE_SOUND, plainInputs, transcription, whisperInputs } from './transcription.ts'

const SOURCE = '@pydantic/genai-prices 0.1.8, November 2026'

const voices = z.enum([
  'alloy',
  'ash',
  'ballad',
  'cedar',
  'coral',
  'echo',
  'fable',
  'marin',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
])

const decoder = new TextDecoder()

/** Samples of 16 bits, 24,000 a second, without a head. */
const PCM = { mediaType: 'audio/pcm', extension: 'pcm' }

/** Only the last event contains the usage, so the sound is requested as events. */
const speech: OnceShape = {
  flow: 'once',
  ask: (inputs, model) => postJson('/audio/speech', { model, ...inputs, stream_format: 'sse' }),
  read: ({ status, bytes }, { response_format: format }) => {
    if (status < 200 || status > 299) return undefined
    const events = decoder
      .decode(bytes)
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [parseJson(line.slice('data:'.length))] : []))
    const of = (type: string) => events.filter((event) => textAt(event, 'type') === type)
    const pieces = of('speech.audio.delta').map((event) =>
      Buffer.from(textAt(event, 'audio') ?? '', 'base64'),
    )
    const done = of('speech.audio.done')[0]
    const sound = Buffer.concat(pieces)
    if (done === undefined || sound.length === 0) return undefined
    const usage = member(done, 'usage')
    const [input, output] = [countAt(usage, 'input_tokens'), countAt(usage, 'output_tokens')]
    return {
      verdict: 'done',
      outputs: [
        {
          type: 'audio',
          from: { bytes: new Uint8Array(sound), ...(format === 'pcm' ? { kind: PCM } : {}) },
        },
      ],
      body: {},
      ...(input === undefined || output === undefined ? {} : { measured: { input, output_audio: output } }),
    }
  },
}

/** The most tokens of sound per letter at normal speed: 50 a second, at the slowest pace of 4 letters a second. */
const TOKENS_A_LETTER = 13
/** Tokens that a vendor adds around a text. */
const AROUND = 100

const letters = (text: unknown): number => (typeof text === 'string' ? text.length : 0)
const bytes = (text: unknown): number => Buffer.byteLength(typeof text === 'string' ? text : '')

const spokenTokens = ({ input, speed }: Inputs): number =>
  Math.ceil(((letters(input) + AROUND) * TOKENS_A_LETTER) / Number(speed))

/** Sound makes ten tokens a second; speech in any script makes fewer. */
const soundTokens = ({ file }: Inputs): number => Math.ceil((mostMs(String(file)) * 17) / 1000) + AROUND

/** Every second that has begun is billed. */
const begunMs = ({ file }: Inputs): number => Math.ceil(mostMs(String(file)) / 1000) * 1000 + 1000

const hourly = (hour: string): MediaModel['card'] => ({
  rows: [{ rates: { audio_ms: usd(hour, 3_600_000) } }],
  most: { audio_ms: begunMs },
})

const byTokens = (input: string, sound: string, output: string): MediaModel['card'] => ({
  rows: [
    {
      rates: {
        input: usd(input, 1_000_000),
        input_audio: usd(sound, 1_000_000),
        output: usd(output, 1_000_000),
      },
    },
  ],
  most: { input: ({ prompt }) => bytes(prompt) + AROUND, input_audio: soundTokens, output: soundTokens },
})

const listens = { category: 'transcription', example: { file: EXAMPLE_SOUND }, source: SOURCE } as const

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({
      url: z.string().regex(/^data:image\//, { message: 'must be a data: address of a picture' }),
    }),
  }),
])

const moderation: OnceShape = {
  flow: 'once',
  ask: (inputs, model) => postJson('/moderations', { model, ...inputs }),
  read: (answer) => {
    const body = objectOf(answer)
    return body === undefined || listAt(body, 'results') === undefined ? undefined : jsonDone(body, {})
  },
}

export const openaiSound: readonly MediaModel[] = [
  {
    name: 'gpt-4o-mini-tts',
    category: 'speech',
    title: 'GPT-4o mini TTS',
    description: 'Speaks a text in one of several voices; instructions set tone and pace.',
    inputs: z.strictObject({
      input: z.string().min(1).max(4_096),
      voice: voices.default('coral'),
      instructions: z.string().max(4_096).optional(),
      response_format: z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).default('mp3'),
      speed: z.number().min(0.25).max(4).default(1),
    }),
    example: { input: 'Hello from the gateway.' },
    shape: speech,
    card: {
      rows: [{ rates: { input: usd('0.6', 1_000_000), output_audio: usd('12', 1_000_000) } }],
      most: {
        input: ({ input, instructions }) => bytes(input) + bytes(instructions) + AROUND,
        output_audio: spokenTokens,
      },
    },
    source: SOURCE,
    ends: '2027-01-06',
  },
  {
    ...listens,
    name: 'gpt-transcribe',
    title: 'GPT Transcribe',
    description: 'Writes down what is said in a recording.',
    inputs: plainInputs,
    shape: transcription(),
    card: hourly('0.27'),
  },
  {
    ...listens,
    name: 'gpt-4o-transcribe',
    title: 'GPT-4o Transcribe',
    description: 'Writes down what is said in a recording; billed by tokens.',
    inputs: plainInputs,
    shape: transcription(),
    card: byTokens('2.5', '6', '10'),
  },
  {
    ...listens,
    name: 'gpt-4o-mini-transcribe',
    title: 'GPT-4o mini Transcribe',
    description: 'Writes down what is said in a recording; billed by tokens.',
    inputs: plainInputs,
    shape: transcription(),
    card: byTokens('1.25', '3', '5'),
  },
  {
    ...listens,
    name: 'whisper-1',
    title: 'Whisper',
    description: 'Writes down what is said in a recording, with times, or translates it to English.',
    inputs: whisperInputs,
    shape: transcription(),
    card: hourly('0.36'),
  },
  {
    name: 'omni-moderation-latest',
    category: 'utility',
    title: 'Omni Moderation',
    description: 'Says whether texts or images are harmful; free.',
    inputs: z.strictObject({
      input: z.union([z.string(), z.array(z.string()).min(1).max(1_000), z.array(part).min(1).max(1_000)]),
    }),
    example: { input: 'A text to look at.' },
    shape: moderation,
    card: { rows: [{ rates: {} }], most: {} },
    source: SOURCE,
  },
]
