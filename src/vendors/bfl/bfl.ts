/** Black Forest Labs: sells FLUX images but no chat; see media.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { bflMedia } from './media.ts'

export const bfl = {
  ...noChat,
  id: 'bfl',
  name: 'Black Forest Labs',
  keyVariable: 'BFL_API_KEY',
  baseUrl: 'https://api.bfl.ai/v1',
  auth: 'x-key',
  media: bflMedia,
} satisfies Vendor
