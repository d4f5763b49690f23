/** Kling: sells films but no chat; its credential is made of two keys, see cli/cloud-vendors.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { klingMedia } from './media.ts'

export const kling = {
  ...noChat,
  id: 'kling',
  name: 'Kling',
  keyVariable: 'KLING_SECRET_KEY',
  alsoNeeds: 'KLING_ACCESS_KEY',
  baseUrl: 'https://api.klingai.com',
  media: klingMedia,
} satisfies Vendor
