/** The list of vendors: one line each, or a row of chat-vendors.ts. A vendor is on when its key is set. */
import { anthropic } from './anthropic.ts'
import { assemblyai } from './assemblyai/assemblyai.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { bfl } from './bfl/bfl.ts'
import { bytedance } from './bytedance/bytedance.ts'
import { cartesia } from './cartesia/cartesia.ts'
import { chatVendors } from './chat-vendors.ts'
import { cohere } from './cohere/cohere.ts'
import { creatomate } from './creatomate/creatomate.ts'
import { deepgram } from './deepgram/deepgram.ts'
import { deepl } from './deepl/deepl.ts'
import { elevenlabs } from './elevenlabs/elevenlabs.ts'
import { exa } from './exa/exa.ts'
import { fal } from './fal/fal.ts'
import { firecrawl } from './firecrawl/firecrawl.ts'
import { fireworks } from './fireworks/fireworks.ts'
import { google } from './google/google.ts'
import { groq } from './groq/groq.ts'
import { ideogram } from './ideogram/ideogram.ts'
import { jina } from './jina/jina.ts'
import { kling } from './kling/kling.ts'
import { luma } from './luma/luma.ts'
import { minimax } from './minimax/minimax.ts'
import { mistral } from './mistral/mistral.ts'
import { openai } from './openai/openai.ts'
import { recraft } from './recraft/recraft.ts'
import { replicate } from './replicate/replicate.ts'
import { runway } from './runway/runway.ts'
import { shotstack } from './shotstack/shotstack.ts'
import { stability } from './stability/stability.ts'
import { tavily } from './tavily/tavily.ts'
import { together } from './together/together.ts'
import type { Vendor } from './vendor.ts'
import { vertex } from './vertex.ts'
import { xai } from './xai/xai.ts'

export const vendors: readonly Vendor[] = [
  openai,
  anthropic,
  google,
  azure,
  bedrock,
  vertex,
  cohere,
  mistral,
  groq,
  xai,
  together,
  fireworks,
  minimax,
  ...chatVendors,
  elevenlabs,
  deepgram,
  cartesia,
  stability,
  deepl,
  exa,
  tavily,
  firecrawl,
  jina,
  recraft,
  ideogram,
  bfl,
  fal,
  replicate,
  runway,
  luma,
  kling,
  bytedance,
  shotstack,
  creatomate,
  assemblyai,
]
