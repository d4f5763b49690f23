/** Exa: search. Source: npm exa-js 2.23.0. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { exaMedia } from './media.ts'

export const exa = {
  ...noChat,
  id: 'exa',
  name: 'Exa',
  keyVariable: 'EXA_API_KEY',
  baseUrl: 'https://api.exa.ai',
  auth: 'x-api-key',
  media: exaMedia,
} satisfies Vendor
