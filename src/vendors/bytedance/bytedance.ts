/** ByteDance at BytePlus ModelArk: sells Seedance films here; see media.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { bytedanceMedia } from './media.ts'

export const bytedance = {
  ...noChat,
  id: 'bytedance',
  name: 'ByteDance (BytePlus)',
  keyVariable: 'ARK_API_KEY',
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  media: bytedanceMedia,
} satisfies Vendor
