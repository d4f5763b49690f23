/** ElevenLabs: speech, music and transcription. Source: npm @elevenlabs/elevenlabs-js 2.73.0. */

import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { elevenlabsMedia } from './media.ts'

export const elevenlabs = {
  ...noChat,
  id: 'elevenlabs',
  name: 'ElevenLabs',
  keyVariable: 'ELEVENLABS_API_KEY',
  baseUrl: 'https://api.elevenlabs.io/v1',
  auth: 'xi-api-key',
  media: elevenlabsMedia,
} satisfies Vendor
