/** fal: one queue for many makers' models; see media.ts and models.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { falModels, falWaiting } from './models.ts'

export const fal = {
  ...noChat,
  id: 'fal',
  name: 'fal',
  keyVariable: 'FAL_KEY',
  baseUrl: 'https://queue.fal.run',
  auth: 'Key',
  media: {
    models: falModels,
    unverified: 'exact bodies of what was blocked or cancelled; all inputs of Qwen, Seedream and Kontext',
    waiting: falWaiting,
  },
} satisfies Vendor
