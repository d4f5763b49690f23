/** DeepL: translation. Source: npm deepl-node 1.28.0; keys that end in :fx belong to https://api-free.deepl.com. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { deeplMedia } from './media.ts'

export const deepl = {
  ...noChat,
  id: 'deepl',
  name: 'DeepL',
  keyVariable: 'DEEPL_API_KEY',
  baseUrl: 'https://api.deepl.com',
  auth: 'DeepL-Auth-Key',
  media: deeplMedia,
} satisfies Vendor
