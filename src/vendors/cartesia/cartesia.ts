/** Cartesia: speech. Source: npm @cartesia/cartesia-js 4.2.0. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { cartesiaMedia } from './media.ts'

export const cartesia = {
  ...noChat,
  id: 'cartesia',
  name: 'Cartesia',
  keyVariable: 'CARTESIA_API_KEY',
  baseUrl: 'https://api.cartesia.ai',
  headers: { 'cartesia-version': '2026-08-14' },
  media: cartesiaMedia,
} satisfies Vendor
