/** The recipes of payers as their pages are written: each pays for its call from a chain of the test's, on both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { install, NotInstalled } from '../agents/install.ts'
import { openDesk } from '../agents/launch.ts'
import { readPage } from '../agents/page.ts'
import { completion, startTestServer, type TestServer, testModel, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { hasChain, keyOf } from './chain.ts'
import { installChannels, WITHDRAW_SECONDS } from './channels.ts'
import { onChain } from './on-chain.ts'
import { optionsFor } from './rig.ts'

const here = join(import.meta.dir, '../../node_modules')
/** An older library than this checkout has is installed; undefined where that cannot be. */
const modulesOf = async (name: string): Promise<readonly string[] | undefined> => {
  if (name !== 'x402-fetch') return [here]
  try {
    return (await install(name)).modules
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error
    process.stderr.write(`${name} is left out: ${error.message}\n`)
    return undefined
  }
}

describe.skipIf(!hasChain)('recipes', () => {
  const on = onChain(installChannels)

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let server: TestServer
      let listening: ReturnType<typeof Bun.serve>
      beforeAll(async () => {
        database = await engine.fresh()
        const rule = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: 1_000_000n * USD, claimSeconds: 900 }
        const x402 = optionsFor(on.facilitator, on.chain, { channels: rule })
        server = await startTestServer({ url: database.url, x402, fund: 0n, models: [testModel('small')] })
        server.answerWith(() => completion('hello from the vendor'))
        await server.x402?.round()
        listening = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
      })
      afterAll(async () => {
        await listening.stop(true)
        expect(await brokenLaws(server.store)).toEqual([])
        await server.stop()
        await database.stop()
      })

      for (const name of ['x402', 'x402-fetch', 'mppx', 'x402-vouchers'])
        test(name, async () => {
          const modules = await modulesOf(name)
          if (modules === undefined) return
          const payer = await on.chain.newPayer(1_000_000n)
          const page = readPage(name, {
            address: `http://127.0.0.1:${listening.port}`,
            key: '',
            model: 'mock/small',
          })
          const variables = page.variables.replace('0x…', keyOf(payer)).replace('https://…', on.chain.url)
          const desk = openDesk({ ...page, variables }, [], modules)
          const { out, errors } = await desk.run(page.first).ended
          desk.remove()
          expect([out.trim(), errors]).toEqual(['hello from the vendor', ''])
        })
    })
})
