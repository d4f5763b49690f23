/** The first lines of the record of a failed part. */
import { expect, test } from 'bun:test'
import { failuresOf } from '../failures.ts'

test('a failed test is named first, with what it printed, however much came after it', () => {
  const later = Array.from({ length: 500 }, (_, at) => `(pass) test ${at}`)
  const said = failuresOf(
    ['(pass) before', 'error: 1 is not 2', '(fail) sums', ...later, ' 1 fail'].join('\n'),
  )
  expect(said.split('\n').slice(0, 2)).toEqual(['(fail) sums', 'error: 1 is not 2'])
  expect(said.split('\n').at(-1)).toBe(' 1 fail')
  expect(said).not.toContain('(pass) before')
})

test('a mutation that was missed is named', () => {
  const later = Array.from({ length: 100 }, (_, at) => `caught  rule ${at}`)
  expect(failuresOf(['MISSED  a rule', ...later].join('\n'))).toStartWith('MISSED  a rule\n')
})
