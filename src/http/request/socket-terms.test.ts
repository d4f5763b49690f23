/**
 * The terms of a socket: those of the upgrade apply unless a message says otherwise, and none of them reaches a vendor.
 */
import { expect, test } from 'bun:test'
import type { Refusal } from '../../core/refusal.ts'
import { protocolFor } from '../listen/socket.ts'
import { type Terms, termsOfMessage, termsOfUpgrade } from './socket-terms.ts'

const upgrade = (headers: Record<string, string>) => termsOfUpgrade(new Headers(headers))
const none: Terms = {
  maxCostUsd: undefined,
  subWallet: undefined,
  paymentProtocol: undefined,
  idempotencyKey: undefined,
}

test.each<[string, string, string, boolean]>([
  ['GET', 'http://a.test/v1/stream', 'websocket', true],
  ['GET', 'http://a.test/v1/stream?key=1', 'WebSocket', true],
  ['GET', '/v1/stream', 'websocket', true],
  ['POST', 'http://a.test/v1/stream', 'websocket', false],
  ['GET', 'http://a.test/v1/stream', 'h2c', false],
  ['GET', 'http://a.test/x/v1/stream', 'websocket', false],
  ['GET', 'http://a.test/?x=/v1/stream', 'websocket', false],
  ['GET', 'http://a.test/v1/stream/', 'websocket', false],
])('%s %s with the upgrade %s asks for a socket: %p', (method, url, to, asks) => {
  const asked = { method, url, headers: new Headers({ upgrade: to }) } as Request
  expect(protocolFor(asked) !== undefined).toBe(asks)
})

test('the headers of an upgrade are terms', () => {
  expect(upgrade({})).toEqual(none)
  expect(
    upgrade({
      'x-max-cost-usd': '0.05',
      'x-sub-wallet': 'team',
      'x-payment-protocol': 'mpp',
      'idempotency-key': 'k',
    }),
  ).toEqual({ maxCostUsd: '0.05', subWallet: 'team', paymentProtocol: 'mpp', idempotencyKey: 'k' })
})

test.each<[Record<string, string>, string, number]>([
  [{ 'x-max-cost-usd': '-1' }, 'invalid_parameter', 400],
  [{ 'x-payment-protocol': 'cash' }, 'invalid_parameter', 400],
  [{ 'idempotency-key': '\u00e9' }, 'invalid_parameter', 400],
  [{ 'x-sub-wallet': 'a b' }, 'not_found', 404],
  [{ 'x-payment-protocol': 'x402' }, 'payment_mode_unavailable', 402],
  [{ 'payment-signature': 'e30=' }, 'payment_mode_unavailable', 402],
  [{ 'x-payment': 'e30=' }, 'payment_mode_unavailable', 402],
])('an upgrade with %p is refused as %s', (headers, code, status) => {
  expect(upgrade(headers)).toMatchObject({ code, status })
})

test('a message changes the terms it names for itself, and is sent on without them', () => {
  const defaults = { ...none, maxCostUsd: '1', subWallet: 'team' }
  expect(
    termsOfMessage({ model: 'm', max_cost_usd: 0.5, sub_wallet: null, idempotency_key: 'k' }, defaults),
  ).toEqual({
    terms: { ...none, maxCostUsd: '0.5', idempotencyKey: 'k' },
    request: { model: 'm' },
  })
  expect(termsOfMessage({ model: 'm' }, defaults)).toEqual({ terms: defaults, request: { model: 'm' } })
})

test.each<[Record<string, unknown>, string]>([
  [{ max_cost_usd: 'much' }, 'max_cost_usd'],
  [{ max_cost_usd: true }, 'max_cost_usd'],
  [{ payment_protocol: 7 }, 'payment_protocol'],
  [{ payment_protocol: 'cash' }, 'payment_protocol'],
  [{ idempotency_key: '' }, 'idempotency_key'],
])('a message with %p is told by the name of its member', (message, param) => {
  const refusal = termsOfMessage(message as never, none)
  expect(refusal).toMatchObject({ code: 'invalid_parameter', members: { param } })
  expect((refusal as Refusal).message).toContain(`'${param}'`)
})
