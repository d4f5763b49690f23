/** What a vendor names in its answers leads nowhere else than to its own addresses for the job. */
import { expect, test } from 'bun:test'
import { createLog } from '../../src/core/log.ts'
import { startJobServer } from '../server/job-rig.ts'
import { until } from '../until.ts'

test.each([
  ['an id', { id: '../admin' }, { is: 'pending' }],
  ['an id in other letters', { id: 'a/%2E%2e/admin' }, { is: 'pending' }],
  ['the next address', { id: 'a' }, { next: 'https://mock.test/v1/jobs/../admin' }],
  ['the next path', { id: 'a' }, { next: '/jobs/a/..' }],
])('%s with dot segments is not followed', async (_, submitted, polled) => {
  let failed = false
  const log = createLog(
    'warn',
    () => 0,
    (line) => {
      failed ||= line.includes("not the vendor's own")
    },
  )
  const server = await startJobServer({ server: { log } })
  const urls: string[] = []
  server.answerWith(({ url, method = 'POST' }) => {
    if (method !== 'POST') urls.push(url)
    return Response.json(method === 'POST' ? submitted : polled)
  })
  await server.post('/v1/run', { model: 'mock/film', inputs: { prompt: 'x' } }, { prefer: 'respond-async' })
  await until(() => failed)
  expect(urls.filter((url) => /\.\.|%2e|admin/i.test(url))).toEqual([])
  await server.stop()
})
