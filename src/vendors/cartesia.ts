/** Cartesia: speech. Source: npm @cartesia/cartesia-js 4.2.0. */
import { cartesiaMedia } from './cartesia-media.ts'
import { noChat } from './no-chat.ts'
import type { Vendor } from './vendor.ts'

export const cartesia = {
  ...noChat,
  id: 'cartesia',
  name: 'Cartesia',
  keyVariable: 'CARTESIA_API_KEY',
  baseUrl: 'https://api.cartesia.ai',
  headers: { 'cartesia-version': '2026-08-14' },
  media: cartesiaMedia,
} satisfies Vendor
