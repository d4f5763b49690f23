/** The list of vendors: one line each. A vendor is on when its key is set. */
import { alibaba } from './alibaba.ts'
import { anthropic } from './anthropic.ts'
import { assemblyai } from './assemblyai.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { bfl } from './bfl.ts'
import { bytedance } from './bytedance.ts'
import { cartesia } from './cartesia.ts'
import { cerebras } from './cerebras.ts'
import { cohere } from './cohere.ts'
import { creatomate } from './creatomate.ts'
import { deepgram } from './deepgram.ts'
import { deepl } from './deepl.ts'
import { deepseek } from './deepseek.ts'
import { elevenlabs } from './elevenlabs.ts'
import { exa } from './exa.ts'
import { fal } from './fal.ts'
import { firecrawl } from './firecrawl.ts'
import { fireworks } from './fireworks.ts'
import { google } from './google.ts'
import { groq } from './groq.ts'
import { ideogram } from './ideogram.ts'
import { jina } from './jina.ts'
import { kling } from './kling.ts'
import { luma } from './luma.ts'
import { minimax } from './minimax.ts'
import { mistral } from './mistral.ts'
import { moonshot } from './moonshot.ts'
import { nvidia } from './nvidia.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { recraft } from './recraft.ts'
import { replicate } from './replicate.ts'
import { runway } from './runway.ts'
import { shotstack } from './shotstack.ts'
import { stability } from './stability.ts'
import { tavily } from './tavily.ts'
import { together } from './together.ts'
import type { Vendor } from './vendor.ts'
import { vertex } from './vertex.ts'
import { xai } from './xai.ts'
import { zai } from './zai.ts'

export const vendors: readonly Vendor[] = [
  openai,
  anthropic,
  google,
  azure,
  bedrock,
  vertex,
  cohere,
  deepseek,
  mistral,
  groq,
  xai,
  together,
  fireworks,
  openrouter,
  cerebras,
  moonshot,
  alibaba,
  zai,
  minimax,
  perplexity,
  nvidia,
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
