/** Tavily: search. Source: npm @tavily/core 0.7.13. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { tavilyMedia } from './media.ts'

export const tavily = {
  ...noChat,
  id: 'tavily',
  name: 'Tavily',
  keyVariable: 'TAVILY_API_KEY',
  baseUrl: 'https://api.tavily.com',
  media: tavilyMedia,
} satisfies Vendor
