/** Stability AI: sells images, music and sounds but no chat; see media.ts. */
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { stabilityMedia, stabilitySound, stabilityUpscale } from './media.ts'

export const stability = {
  ...noChat,
  id: 'stability',
  name: 'Stability AI',
  keyVariable: 'STABILITY_API_KEY',
  baseUrl: 'https://api.stability.ai',
  media: { ...stabilityMedia, models: [...stabilityMedia.models, ...stabilityUpscale, ...stabilitySound] },
} satisfies Vendor
