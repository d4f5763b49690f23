/** AssemblyAI: sells transcription but no chat; see media.ts. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { assemblyaiMedia } from './media.ts'

export const assemblyai = {
  ...noChat,
  id: 'assemblyai',
  name: 'AssemblyAI',
  keyVariable: 'ASSEMBLYAI_API_KEY',
  baseUrl: 'https://api.assemblyai.com',
  auth: 'plain',
  media: assemblyaiMedia,
} satisfies Vendor
