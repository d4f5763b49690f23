/** Tokens per minute: what a call reserves, what that leaves for its output, and what it gives back at its end. */
import { expect, test } from 'bun:test'
import type { Hold } from '../../book/contract.ts'
import type { Call } from '../../core/call.ts'
import type { Model } from '../../core/model.ts'
import { Refusal } from '../../core/refusal.ts'
import { inputBound } from '../../pricing/quote.ts'
import type { Task } from '../parts/task.ts'
import { correctingAtEnd, outputWithin, type TokenTurn, tokensFor } from './token-turn.ts'

const model = { kind: 'chat', maxOutputTokens: 8_192, contextTokens: 128_000, imageTokensMax: 1_000 } as Model
const call = {
  kind: 'chat',
  choices: 1,
  size: { textBytes: 500, images: 0, audioBytes: 0 },
} as Call
/** The text's bytes, and the tokens that a template adds. */
const INPUT = inputBound(model, call.size)

test('a bound of the caller is reserved whole, in each of its answers', () => {
  expect(tokensFor(model, { ...call, maxOutput: 1_000 }, 100_000)).toEqual({
    least: INPUT + 1_000,
    most: INPUT + 1_000,
  })
  expect(tokensFor(model, { ...call, maxOutput: 1_000, choices: 3 }, 100_000)).toEqual({
    least: INPUT + 3_000,
    most: INPUT + 3_000,
  })
})

test('without a bound it leaves room for others, and can do with less', () => {
  expect(tokensFor(model, call, 100_000)).toEqual({ least: INPUT + 256, most: INPUT + 8_192 })
  expect(tokensFor(model, call, 20_000)).toEqual({ least: INPUT + 256, most: INPUT + 5_000 })
  expect(tokensFor(model, call, 2_000)).toEqual({ least: INPUT + 256, most: 2_000 })
})

test('a model that gives less than the least is not asked for more', () => {
  expect(tokensFor({ ...model, maxOutputTokens: 100 }, call, 100_000)).toEqual({
    least: INPUT + 100,
    most: INPUT + 100,
  })
})

test('embeddings reserve their input', () => {
  const ask = tokensFor({ ...model, kind: 'embeddings' }, { ...call, kind: 'embeddings' }, 100_000)
  expect(ask).toEqual({ least: INPUT, most: INPUT })
})

test('what no minute has is a 400 that names the limit', () => {
  const ask = tokensFor(model, { ...call, maxOutput: 1_000 }, INPUT + 999)
  expect(ask).toBeInstanceOf(Refusal)
  expect(ask).toMatchObject({ code: 'invalid_parameter', members: { param: 'max_tokens' } })
  expect((ask as Refusal).message).toContain(`${INPUT + 1_000} tokens, more than the ${INPUT + 999} a minute`)
  expect(tokensFor(model, { ...call, maxOutput: 1_000 }, INPUT + 1_000)).toMatchObject({
    most: INPUT + 1_000,
  })
})

const turnOf = (reserved: number) => {
  const corrected: number[] = []
  const turn: TokenTurn = {
    limit: 100_000,
    remaining: 0,
    resetAt: 0,
    reserved,
    correct: (used) => corrected.push(used),
  }
  return { turn, corrected }
}

test('the output is what the reserved tokens leave beside the input, shared by the answers', () => {
  expect(outputWithin(model, call, turnOf(INPUT + 700).turn)).toBe(700)
  expect(outputWithin(model, { ...call, choices: 3 }, turnOf(INPUT + 700).turn)).toBe(233)
  expect(outputWithin(model, call, turnOf(INPUT - 1).turn)).toBe(0)
})

const holdOf = () => {
  const ends: string[] = []
  const hold: Partial<Hold> = {
    callId: 'c',
    opened: Promise.resolve(true),
    void: async () => {
      ends.push('void')
    },
    settle: async () => {
      ends.push('settle')
      return { charged: 1n, remaining: 0n } as never
    },
  }
  return { task: { hold } as Task, ends }
}

test('a call that is charged puts back all but its usage', async () => {
  const { turn, corrected } = turnOf(1_000)
  const { task, ends } = holdOf()
  const { hold } = await correctingAtEnd(turn, async () => task)
  await hold.settle(1n, { usage: { input: 100, cache_read: 20, output: 30, reasoning: 5 } } as never)
  expect([corrected, ends]).toEqual([[155], ['settle']])
})

test('a call that is not charged puts back all, whether it was opened or not', async () => {
  const { turn, corrected } = turnOf(1_000)
  const { task, ends } = holdOf()
  const opened = await correctingAtEnd(turn, async () => task)
  await opened.hold.void()
  expect([corrected, ends]).toEqual([[0], ['void']])
  const failing = correctingAtEnd(turn, () => Promise.reject(new Error('no money')))
  await expect(failing).rejects.toThrow('no money')
  expect(corrected).toEqual([0, 0])
})
