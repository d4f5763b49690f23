/** Firecrawl: reading of web pages. Source: npm @mendable/firecrawl-js 1.21.1. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { firecrawlMedia } from './media.ts'

export const firecrawl = {
  ...noChat,
  id: 'firecrawl',
  name: 'Firecrawl',
  keyVariable: 'FIRECRAWL_API_KEY',
  baseUrl: 'https://api.firecrawl.dev',
  media: firecrawlMedia,
} satisfies Vendor
