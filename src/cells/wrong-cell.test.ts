/** A request that is passed on, and comes back because its organisation has moved meanwhile. */
import { afterAll, expect, test } from 'bun:test'
import { Places } from './places.ts'
import { checkCell, passedOn } from './wrong-cell.ts'

/** Who had passed on what came to it, in order. */
const passedBy: (string | null)[] = []
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    passedBy.push(request.headers.get('x-turnpike-passed-by'))
    const headers = { 'x-turnpike-cell': new URL(request.url).pathname.slice(1) }
    return new Response(null, { status: 421, headers })
  },
})
afterAll(() => server.stop(true))
const cell = {
  name: 'c2',
  host: undefined,
  console: undefined,
  addresses: [{ url: `http://127.0.0.1:${server.port}`, weight: 1 }],
}
const others = {
  own: 'c1',
  directory: { now: () => ({ first: cell, cells: new Map([['c2', cell]]) }) },
  places: new Places(() => performance.now()),
}
/** What the caller of c1 gets, when c2 says that the organisation is in this cell. */
const told = async (where: string, headers: Record<string, string> = {}) => {
  const answer = new Response(null, { status: 421, headers: { 'x-turnpike-cell': 'c2' } })
  const request = new Request(`http://c1.test/${where}`, { method: 'POST', body: '{}', headers })
  return passedOn(others, { request, answer, peer: undefined })
}

test('one that came back here is to be tried again: its caller has asked where it should', async () => {
  await expect(told('c1')).rejects.toMatchObject({ code: 'moving', status: 503 })
  expect((await told('c3'))?.status).toBe(421)
})

test('a key that names the cell from which its organisation has come is looked up from then on', async () => {
  const token = `sk-c2-${'a'.repeat(43)}`
  const request = new Request('http://c1.test/c1', { method: 'POST', body: '{}' })
  const refusal = expect.objectContaining({ code: 'wrong_cell' })
  expect(() => checkCell('c1', token, request.headers)).toThrow(refusal)
  const answer = new Response(null, { status: 421, headers: { 'x-turnpike-cell': 'c2' } })
  await expect(passedOn(others, { request, answer, peer: undefined })).rejects.toMatchObject({
    code: 'moving',
  })
  checkCell('c1', token, new Headers())
  expect(() => checkCell('c1', `sk-c2-${'b'.repeat(43)}`, new Headers())).toThrow(refusal)
})

test('one that moved twice is passed on by each cell that it left, and by none twice', async () => {
  const by = (names: string) => ({ 'x-turnpike-passed-by': names })
  expect((await told('c4', by('c0')))?.status).toBe(421)
  expect(passedBy.at(-1)).toBe('c0, c1')
  expect(await told('c4', by('c0, c2'))).toBeUndefined()
})
