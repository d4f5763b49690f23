/** Stability AI: sells images, music and sounds but no chat; see stability-media.ts. */
import { noChat } from './no-chat.ts'
import { stabilityMedia } from './stability-media.ts'
import { stabilitySound } from './stability-sound.ts'
import { stabilityUpscale } from './stability-upscale.ts'
import type { Vendor } from './vendor.ts'

export const stability = {
  ...noChat,
  id: 'stability',
  name: 'Stability AI',
  keyVariable: 'STABILITY_API_KEY',
  baseUrl: 'https://api.stability.ai',
  media: { ...stabilityMedia, models: [...stabilityMedia.models, ...stabilityUpscale, ...stabilitySound] },
} satisfies Vendor
