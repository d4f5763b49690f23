/** The memory of a process is divided so that all parts fit into it. */
import { expect, test } from 'bun:test'
import { boundsWithin } from './memory.ts'

const MB = 1024 * 1024

test('in little memory the defaults become smaller, and what is set stays', () => {
  const all = boundsWithin(220 * MB, {})
  expect(all).toEqual({
    BUFFER_BYTES_MAX: '27962026',
    BODY_BYTES_MAX: '6990506',
    OPEN_CALLS_MAX: '406',
    SOCKETS_MAX: '16',
  })
  const { OPEN_CALLS_MAX: _, ...others } = all
  expect(boundsWithin(220 * MB, { OPEN_CALLS_MAX: '9', SOCKETS_MAX: '' })).toEqual(others)
})

test('a machine of common size has the defaults, and the smallest one still serves', () => {
  expect(boundsWithin(4096 * MB, {})).toEqual({})
  expect(boundsWithin(64 * MB, {})).toEqual({
    BUFFER_BYTES_MAX: '1000000',
    BODY_BYTES_MAX: '250000',
    OPEN_CALLS_MAX: '64',
    SOCKETS_MAX: '4',
  })
})
