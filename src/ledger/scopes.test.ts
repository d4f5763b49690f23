/** Which counters a key's money moves. */
import { expect, test } from 'bun:test'
import { refundedCall, scopesOf } from './scopes.ts'

test('a call counts against both caps of its key and of every maker, and against its sub-wallet, in sorted order', () => {
  expect(scopesOf(['child', 'maker'], '2026-11', 'team')).toEqual([
    'key:child',
    'key:child:2026-11',
    'key:maker',
    'key:maker:2026-11',
    'sub:team',
  ])
  expect(scopesOf(['b', 'a'], '2026-11', undefined)[0]).toBe('key:a')
})

test('a refund names its call, with or without a number', () => {
  expect(refundedCall('0195-call')).toBe('0195-call')
  expect(refundedCall('0195-call:2')).toBe('0195-call')
})
