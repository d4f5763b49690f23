/** Which cell a request without a key is for, where one cell takes all payments and where each takes those to its host. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readDirectory } from '../../cells/directory.ts'
import { whose } from './whose.ts'

const text = (more = '') =>
  `first: c1\n${more}cells: { c1: { addresses: ['http://10.0.0.1:1'], console: 'https://c1.test' }, c2: { addresses: ['http://10.0.0.2:1'] }, c3: { addresses: ['http://10.0.0.3:1'], console: 'https://c3.test' } }`
const each = readDirectory(text(), 'cells.yaml')
const one = readDirectory(text('payments: c2\n'), 'cells.yaml')
const asking = { peer: '192.0.2.1', trusted: [] }

type Asked = readonly [method: string, path: string, headers?: Record<string, string>]
const cellOf = (directory: typeof each, [method, path, headers = {}]: Asked) => {
  const found = whose(new Request(`http://router.test${path}`, { method, headers }), directory, asking)
  return 'name' in found && 'addresses' in found ? found.name : 'refused'
}
const named = `sk-c3-${'a'.repeat(43)}`
const host = 'c3.test'

test.each<readonly [string, Asked, string, string]>([
  ['a call that may be paid for', ['POST', '/v1/run'], 'c1', 'c2'],
  ['the same at the host of a cell', ['POST', '/v1/chat/completions', { host }], 'c3', 'c2'],
  ['in the dialect of others', ['POST', '/api/chat', { host }], 'c3', 'c2'],
  ['a tool', ['POST', '/mcp', { host }], 'c3', 'c2'],
  ['a payment', ['POST', '/elsewhere', { host, 'payment-signature': 'x' }], 'c3', 'c2'],
  ['one of version 1', ['POST', '/elsewhere', { host, 'x-payment': 'x' }], 'c3', 'c2'],
  ['a credential', ['GET', '/elsewhere', { host, authorization: 'Payment x' }], 'c3', 'c2'],
  ['a payer', ['GET', '/v1/payers/me', { host, 'sign-in-with-x': 'x' }], 'c3', 'c2'],
  ['a payment with a key', ['POST', '/v1/run', { 'x-payment': 'x', 'x-api-key': named }], 'c3', 'c3'],
  ['a key without a name', ['POST', '/v1/run', { authorization: 'Bearer sk-x' }], 'c1', 'c1'],
  ['such a key at a host', ['POST', '/v1/run', { host, 'x-goog-api-key': 'AIza' }], 'c3', 'c3'],
  ['what is stored at a cell', ['GET', '/v1/run/job_x?token=x', { host }], 'c3', 'c3'],
  ['the same at no cell’s host', ['GET', '/v1/run/job_x?token=x'], 'c1', 'c2'],
  ['a webhook of a vendor', ['POST', '/hooks/fal/x', { host }], 'c3', 'c3'],
  ['the console', ['POST', '/console/api/session/password'], 'c1', 'c1'],
  ['an agent that signs in', ['POST', '/oauth/token'], 'c1', 'c1'],
])('%s', (_what, asked, byHost, ofPayments) => {
  expect([cellOf(each, asked), cellOf(one, asked)]).toEqual([byHost, ofPayments])
})

test('the cell of payments is one of the cells', () => {
  expect(() => readDirectory(text('payments: c9\n'), 'cells.yaml')).toThrow(
    'payments: must be one of c1, c2, c3',
  )
})

test('whatever may be paid for without a key goes to the cell of payments', () => {
  const file = resolve(import.meta.dir, '../../../docs/openapi.json')
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as {
    paths: Record<string, Record<string, { responses: object }>>
  }
  const paid = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      '402' in responses ? [[method, path] as const] : [],
    ),
  )
  expect(paid.length).toBeGreaterThan(10)
  for (const [method, path] of paid)
    expect([method, path, cellOf(one, [method.toUpperCase(), path, { host }])]).toEqual([method, path, 'c2'])
})
