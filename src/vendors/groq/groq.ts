/** Groq's transcription, in OpenAI's shape. Source: console.groq.com/docs/speech-to-text; prices of genai-prices. */
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { mostMs } from '../../media/sound-length.ts'
import { groqBatches } from '../batches/openai-form.ts'
import { EXAMPLE_SOUND, transcription, whisperInputs } from '../openai/transcription.ts'
import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'

/** The least that a sound is billed as. */
const LEAST_MS = 10_000

const groqMedia: VendorMedia = {
  unverified: 'the minimum of ten seconds',
  models: [
    {
      name: 'whisper-large-v3',
      category: 'transcription',
      title: 'Whisper Large V3',
      description: 'Writes down what is said in a recording, with times, or translates it to English.',
      inputs: whisperInputs,
      example: { file: EXAMPLE_SOUND },
      shape: transcription(LEAST_MS),
      card: {
        rows: [{ rates: { audio_ms: usd('0.111', 3_600_000) } }],
        most: { audio_ms: ({ file }) => Math.max(LEAST_MS, mostMs(String(file)) + 1000) },
      },
      source: '@pydantic/genai-prices 0.1.8, November 2026',
    },
  ],
}

/** Groq: speaks chat completions at its own address. Source: GroqCloud API reference, Create chat completion; streams report usage in x_groq; reasoning_content in a message is a 400. */
export const groq = {
  ...usualChat,
  id: 'groq',
  name: 'Groq',
  keyVariable: 'GROQ_API_KEY',
  baseUrl: 'https://api.groq.com/openai/v1',
  outputBound: 'max_completion_tokens',
  reasoningBack: 'refused',
  catalogue: { prices: 'groq', limits: 'groq' },
  // GroqCloud, "Batch Processing": half. No document says that the discount of "Prompt Caching" comes on top.
  batches: { form: groqBatches, cachedInput: () => 'as input' },
  usageAt: 'x_groq',
  media: groqMedia,
} satisfies Vendor
