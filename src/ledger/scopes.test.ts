/** Which counters a key's money moves. */
import { expect, test } from 'bun:test'
import { refundedCall, scopesOf } from './scopes.ts'

test("a call counts against all caps of its key and of every maker, its wallet's day and its sub-wallet, in sorted order", () => {
  const path = { line: ['child', 'maker'], walletId: 'w', day: '2026-11-21', sub: 'team' }
  expect(scopesOf(path)).toEqual([
    'day:w:2026-11-21',
    'key:child',
    'key:child:2026-11',
    'key:child:2026-11-16/2026-11-22',
    'key:child:2026-11-21',
    'key:maker',
    'key:maker:2026-11',
    'key:maker:2026-11-16/2026-11-22',
    'key:maker:2026-11-21',
    'sub:team',
  ])
  expect(scopesOf({ ...path, line: ['b', 'a'], sub: undefined })[1]).toBe('key:a')
})

test('a refund names its call, with or without a number', () => {
  expect(refundedCall('0195-call')).toBe('0195-call')
  expect(refundedCall('0195-call:2')).toBe('0195-call')
})
