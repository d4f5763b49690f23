/** Shotstack: cuts films in the cloud; see media.ts. */
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { shotstackMedia } from './media.ts'

export const shotstack = {
  ...noChat,
  id: 'shotstack',
  name: 'Shotstack',
  keyVariable: 'SHOTSTACK_API_KEY',
  baseUrl: 'https://api.shotstack.io/edit/v1',
  auth: 'x-api-key',
  media: shotstackMedia,
} satisfies Vendor
