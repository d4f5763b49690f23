/** Every pair of a state and an event of a top-up. */
import { expect, test } from 'bun:test'
import { isOpen, statesBefore, topUpAfter, topUpEvents, topUpStates } from './top-up-states.ts'

const refused = undefined

test.each([
  // after:      paid       declined    lost       stop       credit
  ['due', ['paid', 'declined', 'unknown', 'stopped', 'credited']],
  ['paid', ['paid', 'declined', 'unknown', refused, 'credited']],
  ['stopped', ['paid', 'declined', 'unknown', refused, 'credited']],
  ['declined', [refused, 'declined', 'unknown', refused, 'credited']],
  ['unknown', [refused, 'declined', 'unknown', refused, 'credited']],
  ['credited', [refused, refused, refused, refused, 'credited']],
] as const)('a top-up that is %s', (state, after) => {
  expect(topUpEvents.map((event) => topUpAfter(state, event))).toEqual([...after])
})

test('whatever its state, its event credits a payment, and no answer undoes that', () => {
  for (const state of topUpStates) expect(topUpAfter(state, 'credit')).toBe('credited')
  for (const event of topUpEvents.filter((one) => one !== 'credit'))
    expect(topUpAfter('credited', event)).toBeUndefined()
})

test('nothing but an answer that it is paid opens a payment, and none that was declined or given up', () => {
  for (const state of topUpStates.filter((one) => !isOpen(one)))
    for (const event of topUpEvents) {
      const after = topUpAfter(state, event)
      if (after !== undefined && isOpen(after)) expect([state, event]).toEqual(['stopped', 'paid'])
    }
})

test('what is stopped was due', () => {
  expect(statesBefore('stop')).toBe("'due'")
})
