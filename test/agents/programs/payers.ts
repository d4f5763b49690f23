/** Libraries that pay for a call and bring no key. */
import type { Program } from './program.ts'

const elsewhere = 'The library pays for one request; its user writes the rest.'

const payer = (name: string, set: string, packageName: string): Program => ({
  name,
  package: packageName,
  sets: [set],
  speaks: 'chat',
  vendors: ['chat', 'messages', 'gemini'],
  command: '',
  run: (command) => ({ name: 'none', args: { command } }),
  driver: 'none',
  pays: true,
  cannot: {
    'two tools': elsewhere,
    'tool error': elsewhere,
    'long context': elsewhere,
    bytes: elsewhere,
    error: elsewhere,
    'hang-up': elsewhere,
  },
})

export const payers: readonly Program[] = [
  payer('x402', 'x402', '@x402/fetch'),
  payer('x402-fetch', 'x402-fetch', 'x402-fetch'),
]
