/** Runway: sells films and images but no chat; see media.ts. */
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { runwayMedia } from './media.ts'

export const runway = {
  ...noChat,
  id: 'runway',
  name: 'Runway',
  keyVariable: 'RUNWAYML_API_SECRET',
  baseUrl: 'https://api.dev.runwayml.com/v1',
  headers: { 'x-runway-version': '2024-11-06' },
  media: runwayMedia,
} satisfies Vendor
