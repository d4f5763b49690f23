/** Luma: sells films and images but no chat; see media.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { lumaMedia } from './media.ts'

export const luma = {
  ...noChat,
  id: 'luma',
  name: 'Luma',
  keyVariable: 'LUMA_AGENTS_API_KEY',
  baseUrl: 'https://agents.lumalabs.ai/v1',
  media: lumaMedia,
} satisfies Vendor
