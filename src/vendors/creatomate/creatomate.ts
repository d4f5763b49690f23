/** Creatomate: renders films and pictures from descriptions; see media.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { creatomateMedia } from './media.ts'

export const creatomate = {
  ...noChat,
  id: 'creatomate',
  name: 'Creatomate',
  keyVariable: 'CREATOMATE_API_KEY',
  baseUrl: 'https://api.creatomate.com/v1',
  media: creatomateMedia,
} satisfies Vendor
