/** Webhooks reach only public servers, at the address that was checked, and only the server that was named. */
import { afterAll, expect, test } from 'bun:test'
import type { PublicParts } from './public-address.ts'
import { sendWebhook } from './webhook.ts'

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
