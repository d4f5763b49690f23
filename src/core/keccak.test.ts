/** Keccak-256 against the library that payers sign with. */
import { expect, test } from 'bun:test'
import { keccak256 as reference, toBytes } from 'viem'
import { keccak256 } from './keccak.ts'

test('texts of every length around a block give what the reference gives', () => {
  for (const length of [0, 1, 7, 8, 9, 134, 135, 136, 137, 271, 272, 273, 1_000]) {
    const text = 'aé'.repeat(length).slice(0, length)
    expect([length, keccak256(text)]).toEqual([length, reference(toBytes(text))])
  }
})
