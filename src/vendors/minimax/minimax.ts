/** MiniMax: speaks chat completions at its own address. Source: MiniMax API docs, OpenAI compatible text generation. */

import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'
import { minimaxMedia } from './media.ts'
import { minimaxVideo } from './video.ts'

export const minimax = {
  ...usualChat,
  id: 'minimax',
  name: 'MiniMax',
  keyVariable: 'MINIMAX_API_KEY',
  baseUrl: 'https://api.minimax.io/v1',
  catalogue: { prices: 'minimax', limits: 'minimax' },
  media: { ...minimaxMedia, models: [...minimaxMedia.models, ...minimaxVideo] },
} satisfies Vendor
