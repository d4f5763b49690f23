/** Deepgram: speech and transcription. Source: npm @deepgram/sdk 5.13.0. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { deepgramMedia } from './media.ts'

export const deepgram = {
  ...noChat,
  id: 'deepgram',
  name: 'Deepgram',
  keyVariable: 'DEEPGRAM_API_KEY',
  baseUrl: 'https://api.deepgram.com/v1',
  auth: 'Token',
  media: deepgramMedia,
} satisfies Vendor
