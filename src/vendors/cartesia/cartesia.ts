/** Cartesia's speech. Source: npm @cartesia/cartesia-js 4.2.0; docs.cartesia.ai/pricing: one credit a letter, no price of a credit. */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { soundOf } from '../../media/read-answer.ts'
import type { Inputs } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const lettersOf = ({ text }: Inputs): number => String(text).length

const cartesiaMedia: VendorMedia = {
  unverified: 'paths, the price of a credit',
  models: [],
  waiting: [
    {
      name: 'sonic-3',
      category: 'speech',
      title: 'Sonic 3',
      description: 'Speaks a text; billed by its letters.',
      inputs: z.strictObject({
        text: z.string().min(1).max(20_000),
        voice: z.uuid(),
        language: z
          .string()
          .regex(/^[a-z]{2}$/)
          .default('en'),
      }),
      example: { text: 'Hello from the gateway.', voice: 'a0e99841-438c-4a64-b679-ae501e7d6091' },
      shape: {
        flow: 'once',
        ask: ({ text, voice, language }, model) =>
          postJson('/tts/bytes', {
            model_id: model,
            transcript: String(text),
            voice: { mode: 'id', id: String(voice) },
            language: String(language),
            output_format: { container: 'mp3', sample_rate: 44_100, bit_rate: 128_000 },
          }),
        read: (answer, inputs) => soundOf(answer, { character: lettersOf(inputs) }),
      },
      most: { character: lettersOf },
      source: 'one credit a letter, but a credit has no published price outside a plan',
    },
  ],
}

export const cartesia = {
  ...noChat,
  id: 'cartesia',
  name: 'Cartesia',
  keyVariable: 'CARTESIA_API_KEY',
  baseUrl: 'https://api.cartesia.ai',
  headers: { 'cartesia-version': '2026-08-14' },
  media: cartesiaMedia,
} satisfies Vendor
