/** Stability AI's Stable Audio. Source: platform.stability.ai, API reference, "Text-to-Audio". */
import { z } from 'zod'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { soundOf, textAt } from '../../media/read-answer.ts'
import type { FormPart } from '../../media/shape.ts'

export const stabilitySound: readonly MediaModel[] = [
  {
    name: 'stable-audio-2.5',
    category: 'music',
    title: 'Stable Audio 2.5',
    description:
      'Makes a piece of music or a sound of up to 190 seconds from a description; one price a piece.',
    inputs: z.strictObject({
      prompt: z.string().min(1).max(10_000),
      duration: z.int().min(1).max(190).default(30),
      output_format: z.enum(['mp3', 'wav']).default('mp3'),
      seed: z.int().min(0).max(4_294_967_294).optional(),
    }),
    example: { prompt: 'calm piano', duration: 30 },
    shape: {
      flow: 'once',
      ask: (inputs, model) => ({
        method: 'POST',
        path: '/v2beta/audio/stable-audio-2/text-to-audio',
        headers: { accept: 'audio/*' },
        body: {
          form: [
            { name: 'model', text: model },
            ...Object.entries(inputs).map(([name, value]): FormPart => ({ name, text: String(value) })),
          ],
        },
      }),
      read: (answer) =>
        (answer.status === 403 && textAt(answer.json, 'name') === 'content_moderation') ||
        answer.header('finish-reason') === 'CONTENT_FILTERED'
          ? { verdict: 'blocked' }
          : soundOf(answer, { song: 1 }),
    },
    card: { rows: [{ rates: { song: usd('0.2') } }], most: { song: () => 1 } },
    source:
      'stability.ai/api-pricing-update-25, 2025-08 (20 credits); the same in 2026-05, by api-evangelist/stability-audio',
  },
]
