/** Black Forest Labs: sells FLUX images but no chat; see bfl-media.ts. */
import { bflMedia } from './bfl-media.ts'
import { noChat } from './no-chat.ts'
import type { Vendor } from './vendor.ts'

export const bfl = {
  ...noChat,
  id: 'bfl',
  name: 'Black Forest Labs',
  keyVariable: 'BFL_API_KEY',
  baseUrl: 'https://api.bfl.ai/v1',
  auth: 'x-key',
  media: bflMedia,
} satisfies Vendor
