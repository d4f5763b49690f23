/** What the official validator of MPP says of this server: its reference, its challenges, its answers to junk. */
import { afterAll, beforeAll, describe, expect, mock, test } from 'bun:test'
import { validate as validateDocument } from 'mppx/discovery'
import { z } from 'zod'
import { jsonOf, startTestServer } from '../server/harness.ts'
import { hasChain } from './chain.ts'
import { onChain } from './on-chain.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

// The validator loads its program's library, which it does not depend on, and uses nothing of it here.
mock.module('incur', () => ({ Errors: { IncurError: Error, BaseError: Error }, Cli: {}, z }))

const withExample = ['/v1/run', '/v1/chat/completions', '/v1/messages', '/v1/responses']

test('a server that takes no payments asks for none in its reference', async () => {
  const server = await startTestServer()
  const document = await jsonOf(await server.get('/openapi.json', ''))
  expect(JSON.stringify(document)).not.toContain('x-payment-info')
  expect(validateDocument(document)).toEqual([])
  await server.stop()
})

describe.skipIf(!hasChain)('the validator of MPP', () => {
  const on = onChain()
  describe('a server', () => {
    let rig: Rig
    let listening: ReturnType<typeof Bun.serve>
    beforeAll(async () => {
      rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain))
      listening = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        idleTimeout: 0,
        fetch: (request) => rig.server.fetch(request),
      })
    })
    afterAll(async () => {
      await listening.stop(true)
      await rig.server.stop()
    })

    test('finds the operations that can be paid for, and no fault in what they answer', async () => {
      const { validate } = await import('mppx/validation')
      const url = `http://127.0.0.1:${listening.port}`
      const { discovery, endpoints } = await validate({ url, skipPayment: true })
      expect(discovery.checks.filter(({ severity }) => severity !== 'pass')).toEqual([])
      expect([discovery.found, discovery.valid]).toEqual([true, true])
      for (const path of withExample) {
        const told = endpoints.find((one) => one.path === path)
        const checks = [...(told?.challenge ?? []), ...(told?.errorHandling ?? [])]
        expect([path, checks.filter(({ severity }) => severity !== 'pass')]).toEqual([path, []])
        const labels = checks.map(({ label }) => label)
        for (const label of [
          'x402 payment challenge',
          'Challenge parseable',
          'Realm matches server hostname',
          'Has chainId',
          'Malformed credential returns 402',
          'Error response includes fresh challenge',
        ])
          expect(labels).toContain(label)
      }
      const document = discovery.doc as { paths: Record<string, Record<string, object>> }
      const free = document.paths['/api/wallet']?.get ?? document.paths['/health']?.get ?? {}
      expect(free).not.toHaveProperty('x-payment-info')
      expect(endpoints.length).toBeGreaterThan(withExample.length)
    })
  })
})
