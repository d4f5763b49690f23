/** Shotstack: cuts films in the cloud; see shotstack-media.ts. */
import { noChat } from './no-chat.ts'
import { shotstackMedia } from './shotstack-media.ts'
import type { Vendor } from './vendor.ts'

export const shotstack = {
  ...noChat,
  id: 'shotstack',
  name: 'Shotstack',
  keyVariable: 'SHOTSTACK_API_KEY',
  baseUrl: 'https://api.shotstack.io/edit/v1',
  auth: 'x-api-key',
  media: shotstackMedia,
} satisfies Vendor
