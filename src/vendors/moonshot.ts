/** Moonshot: speaks chat completions at its own address. Source: Moonshot AI platform docs, Chat; streams report usage in the last choice; "Use the Kimi K2 thinking model": reasoning must come back with tool calls. */
import type { Vendor } from './vendor.ts'

export const moonshot = {
  id: 'moonshot',
  name: 'Moonshot',
  keyVariable: 'MOONSHOT_API_KEY',
  baseUrl: 'https://api.moonshot.ai/v1',
  surfaces: ['chat'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningOff: 'thinking',
  reasoningBack: 'needed',
  catalogue: { prices: 'moonshotai', limits: 'moonshot' },
  usageAt: 'choice',
} satisfies Vendor
