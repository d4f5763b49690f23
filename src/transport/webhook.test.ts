/** Webhooks reach only public servers, at the address that was checked, and only the server that was named. */
import { afterAll, expect, test } from 'bun:test'
import type { PublicParts } from './public-address.ts'
import { askWebhook, sendWebhook } from './webhook.ts'

const requests: string[] = []
const parts = (addresses: readonly string[], answer: () => Response = () => new Response()): PublicParts => ({
  resolve: async () => addresses,
  fetch: async (url) => {
    requests.push(url)
    return answer()
  },
})
const send = (to: PublicParts, url = 'https://hooks.example.com/a') =>
  sendWebhook(to, { url, headers: {}, body: '{}' })

afterAll(() =>
  expect(requests).toEqual(['https://1.1.1.1/a', 'https://[2606:4700::1111]/a', 'https://1.1.1.1/a']),
)

test('the connection goes to the address that was checked', async () => {
  await send(parts(['1.1.1.1', '2606:4700::1111']))
  await send(parts(['2606:4700::1111']))
})

test.each([
  [['127.0.0.1']],
  [['1.1.1.1', '10.0.0.1']],
  [['::ffff:169.254.169.254']],
  [['not an address']],
  [[]],
])('a name that leads to %j is not called', async (addresses) => {
  await expect(send(parts(addresses))).rejects.toThrow(/not public|no address/)
})

test('an address that may not be named is not called', async () => {
  await expect(send(parts(['1.1.1.1']), 'http://hooks.example.com/')).rejects.toThrow('https')
  await expect(send(parts(['1.1.1.1']), 'https://127.0.0.1/')).rejects.toThrow('public')
})

test('a redirect is a failure', async () => {
  const redirect = () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1/' } })
  await expect(send(parts(['1.1.1.1'], redirect))).rejects.toThrow('302')
})

test('an answer is asked for without compression, and a compressed one is not unpacked', async () => {
  const asked: (string | null)[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ headers }) => {
      asked.push(headers.get('accept-encoding'))
      return new Response(Bun.gzipSync(new Uint8Array(10_000_000)), {
        headers: { 'content-encoding': 'gzip' },
      })
    },
  })
  const there: PublicParts = {
    resolve: async () => ['1.1.1.1'],
    fetch: (_url, { tls: _, ...init }) => fetch(`http://127.0.0.1:${server.port}/`, init),
  }
  const answer = askWebhook(
    there,
    { url: 'https://hooks.example.com/', headers: {}, body: '{}' },
    { deadlineMs: 5_000, bytesMax: 20_000_000 },
  )
  await expect(answer).rejects.toThrow('compressed')
  expect(asked).toEqual(['identity'])
  await server.stop(true)
})
