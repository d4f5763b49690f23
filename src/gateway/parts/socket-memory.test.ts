/** What a socket remembers is counted for its key, and given back when it closes. */
import { expect, test } from 'bun:test'
import { newCapacity } from './capacity.ts'
import { newSocketMemory } from './socket-memory.ts'

const capacity = () =>
  newCapacity({
    openCallsMax: 10,
    bufferBytesMax: 1_000,
    keySharePercent: 100,
    vendorSharePercent: 100,
    socketsMax: 10,
  } as never)
const conversation = (length: number) => ({ items: new Uint8Array(length), stored: false })

test('a response replaces the one before it in its lane, and closing gives all back', () => {
  const all = capacity()
  const memory = newSocketMemory(all, 'k')
  memory.note('a', 'r1', conversation(100))
  memory.note('a', 'r2', conversation(300))
  memory.note('b', 'r3', conversation(50))
  expect([memory.find('r1'), memory.find('r2')?.items.length, all.bytes.used()]).toEqual([
    undefined,
    300,
    350,
  ])
  memory.clear()
  expect(all.bytes.used()).toBe(0)
})

test('an answer that is charged after its client has gone is not remembered', () => {
  const all = capacity()
  const memory = newSocketMemory(all, 'k')
  memory.clear()
  memory.note('a', 'r1', conversation(100))
  expect([memory.find('r1'), all.bytes.used()]).toEqual([undefined, 0])
})
