/** Who may be asked after a failed attempt, and what rests. */
import { expect, test } from 'bun:test'
import type { Model } from '../core/model.ts'
import { refuse } from '../core/refusal.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import type { Deployment } from './deployments.ts'
import { type FailedAttempt, isLast, requestedRestOf, restsAfter, rulesOut } from './failed-attempt.ts'

const at = (id: string, key: string): Deployment => ({
  setup: {} as VendorSetup,
  model: models[id] ?? ({} as Model),
  key,
  place: '0',
  id: `${key} ${id}`,
  secret: undefined,
  anchor: 0n,
  weight: 1,
  priority: 0,
})
const models: Record<string, Model> = { own: { id: 'own' } as Model, equal: { id: 'equal' } as Model }
const tried = at('own', 'first')
const others = [tried, at('own', 'second'), at('equal', 'third')]
const refusal = refuse('upstream_error', 'no')

const table: readonly (readonly [
  FailedAttempt,
  readonly string[],
  string | undefined,
  number | undefined,
])[] = [
  [{ outcome: 'refused', refusal }, [], undefined, undefined],
  [{ outcome: 'may_bill', refusal }, [], 'model', undefined],
  [{ outcome: 'unfit', refusal }, ['third equal'], undefined, undefined],
  [{ outcome: 'busy', refusal, restMs: 7 }, ['second own', 'third equal'], 'model', 7],
  [{ outcome: 'key_refused', refusal, restMs: undefined }, ['second own', 'third equal'], 'key', undefined],
  [{ outcome: 'key_refused', refusal, restMs: 9 }, ['second own', 'third equal'], 'key', 9],
  [{ outcome: 'failed', refusal }, ['first own', 'second own', 'third equal'], 'model', undefined],
]

test.each(table)('after %j those are asked: %j; at rest: %s, for %s', (failed, next, rests, restMs) => {
  expect(others.filter((one) => !rulesOut(failed, tried, one)).map(({ id }) => id)).toEqual([...next])
  expect(isLast(failed)).toBe(next.length === 0)
  expect(restsAfter(failed)).toBe(rests as never)
  expect(requestedRestOf(failed)).toBe(restMs as never)
})
