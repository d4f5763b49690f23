/** What a stranger may write into headers, paths and queries. */
import { nested } from './odd-json.ts'

export const oddHeaders: Readonly<Record<string, readonly string[]>> = {
  'content-type': [
    '',
    'text/plain',
    'application/json; charset=utf-16',
    `application/json${' '.repeat(500)}x`,
  ],
  'content-encoding': ['gzip', 'identity', 'br, br'],
  authorization: [
    '',
    'Bearer',
    'Bearer x',
    'Basic eDp4',
    `Bearer sk-${'a'.repeat(5_000)}`,
    'Payment',
    'Payment e30',
    `Payment ${btoa(nested(2_000, '[', ']')).replace(/=+$/, '')}`,
  ],
  'x-api-key': ['', 'sk-x'],
  'x-max-cost-usd': ['0', '-1', '1e3', '0.0000000001', '99999999999', 'x'],
  'idempotency-key': ['', 'x', 'x'.repeat(300), 'é'],
  'x-sub-wallet': ['', 'none', '../x', 'x'.repeat(300)],
  'x-payment-protocol': ['x402', 'mpp', 'credits', 'x', ''],
  'payment-signature': ['x', 'e30=', btoa(nested(5_000, '[', ']'))],
  'accept-payment': ['evm/charge', 'x', '*/*;q=0', ',,,'],
  'x-change-claim': ['x', 'YQ.00000000000000000000000000000000'],
  'x-payment': ['e30=', btoa('{"x402Version":1}')],
  'anthropic-beta': ['', ',,,', 'x,'.repeat(500), 'context-1m-2025-08-07'],
  accept: ['', '*/*;q=x'],
  expect: ['100-continue', 'x'],
}

export const params = [
  'x',
  'key_x',
  '%00',
  '%ff',
  '..',
  'a%2fb',
  '漢',
  '__proto__',
  'x'.repeat(300),
  '-1',
  '2026-13',
]

export const queries = [
  '',
  '?',
  '?alt=sse',
  '?from=x&to=y',
  '?from=2026-01-01&group_by=x',
  '?%',
  '?a[]=1&a=2',
  '?own=true',
]
