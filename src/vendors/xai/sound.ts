/** xAI's speech. Source: docs.x.ai, "Text to Speech". */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { soundOf } from '../../media/read-answer.ts'
import type { Inputs } from '../../media/shape.ts'

const lettersOf = ({ text }: Inputs): number => String(text).length

export const xaiSound: readonly MediaModel[] = [
  {
    name: 'text-to-speech',
    category: 'speech',
    title: 'xAI Text to Speech',
    description: 'Speaks a text in one of five voices; billed by its letters.',
    inputs: z.strictObject({
      text: z.string().min(1).max(15_000),
      voice: z.enum(['eve', 'ara', 'rex', 'sal', 'leo']).default('eve'),
      language: z
        .string()
        .regex(/^(?:auto|[a-z]{2}(?:-[A-Z]{2})?)$/)
        .default('auto'),
    }),
    example: { text: 'Hello from the gateway.' },
    shape: {
      flow: 'once',
      ask: ({ text, voice, language }) =>
        postJson('/tts', { text: String(text), voice_id: String(voice), language: String(language) }),
      read: (answer, inputs) => soundOf(answer, { character: lettersOf(inputs) }),
    },
    card: { rows: [{ rates: { character: usd('4.2', 1_000_000) } }], most: { character: lettersOf } },
    source: 'docs.x.ai/developers/models/text-to-speech, April 2026',
  },
]
