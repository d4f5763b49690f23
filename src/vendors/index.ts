/** The list of vendors: one line each. A vendor is on when its key is set. */
import { alibaba } from './alibaba.ts'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { cerebras } from './cerebras.ts'
import { cohere } from './cohere.ts'
import { deepseek } from './deepseek.ts'
import { fireworks } from './fireworks.ts'
import { google } from './google.ts'
import { groq } from './groq.ts'
import { minimax } from './minimax.ts'
import { mistral } from './mistral.ts'
import { moonshot } from './moonshot.ts'
import { nvidia } from './nvidia.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
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
]
