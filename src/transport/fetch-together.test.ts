/**
 * Requests of one turn are sent together, each with its own answer or fault; a large number does not wait for the end
 * of the turn.
 */
import { expect, test } from 'bun:test'
import { together } from './fetch-together.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('requests of one turn are sent when it ends, in their order, and each has its own answer', async () => {
  const sent: string[] = []
  const send = together(async (url) => {
    sent.push(url)
    return new Response(url)
  })
  const answers = ['a', 'b', 'c'].map((url) => send(url, {}))
  await Promise.resolve()
  expect(sent).toEqual([])
  await turn()
  expect(sent).toEqual(['a', 'b', 'c'])
  expect(await Promise.all(answers.map(async (answer) => (await answer).text()))).toEqual(['a', 'b', 'c'])
})

test('the sixteenth request of a turn takes the others along at once; those behind it wait again', async () => {
  const sent: string[] = []
  const send = together(async (url) => {
    sent.push(url)
    return new Response(url)
  })
  for (let each = 0; each < 20; each++) void send(String(each), {})
  expect(sent).toHaveLength(16)
  await turn()
  expect(sent).toHaveLength(20)
})

test('a large body is sent at once, with what waited before it', () => {
  const sent: string[] = []
  const send = together(async (url) => {
    sent.push(url)
    return new Response(url)
  })
  void send('small', { body: new Uint8Array(1_000) })
  expect(sent).toEqual([])
  void send('large', { body: new Uint8Array(100_000) })
  expect(sent).toEqual(['small', 'large'])
})

test('a fault is that of its own request, also when the sender throws at once', async () => {
  const send = together((url) => {
    if (url === 'throws') throw new Error('not a request')
    return url === 'fails' ? Promise.reject(new Error('no such host')) : Promise.resolve(new Response(url))
  })
  const all = await Promise.allSettled([send('throws', {}), send('fails', {}), send('good', {})])
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})

test('the requester learns when the request is really sent, which may be long after', async () => {
  const seen: string[] = []
  const send = together(async (url) => {
    seen.push(`sent ${url}`)
    return new Response(url)
  })
  void send('a', {}, { onSend: () => seen.push('now') })
  await Promise.resolve()
  expect(seen).toEqual([])
  await turn()
  expect(seen).toEqual(['now', 'sent a'])
})
