/** Jina AI: reranking and reading of web pages. Source: api-evangelist/jina-ai, OpenAPI. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { jinaMedia } from './media.ts'

export const jina = {
  ...noChat,
  id: 'jina',
  name: 'Jina AI',
  keyVariable: 'JINA_API_KEY',
  baseUrl: 'https://api.jina.ai/v1',
  media: jinaMedia,
} satisfies Vendor
