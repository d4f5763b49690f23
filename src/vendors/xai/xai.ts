/** xAI: speaks chat completions at its own address. Source: xAI API reference, Chat completions; completion_tokens leaves out reasoning_tokens. */

import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'
import { xaiMedia } from './media.ts'
import { xaiSound } from './sound.ts'
import { xaiVideo } from './video.ts'

export const xai = {
  ...usualChat,
  id: 'xai',
  name: 'xAI',
  keyVariable: 'XAI_API_KEY',
  baseUrl: 'https://api.x.ai/v1',
  outputBound: 'max_completion_tokens',
  refusedBesideReasoning: ['presencePenalty', 'frequencyPenalty', 'stop'],
  catalogue: { prices: 'x-ai', limits: 'xai' },
  shortIds: true,
  reasoningApart: true,
  media: { ...xaiMedia, models: [...xaiMedia.models, ...xaiVideo, ...xaiSound] },
} satisfies Vendor
