/** How often a call asks the ledger: the first of a key, and the next one. */
import { describe, expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { engines } from '../store/engines.ts'
import { chat, startTestServer } from './harness.ts'

/** What a server does by itself, whether anybody calls or not. */
const OWN = /^(instances|exports|months|prune|sums)\.|\.(reap|settled|release)$/

/** Notes the name of each method that is called. */
const watch = (store: Store): string[] => {
  const asked: string[] = []
  for (const [port, methods] of Object.entries(store))
    if (typeof methods === 'object' && methods !== null)
      for (const [name, method] of Object.entries(methods as Record<string, unknown>))
        if (typeof method === 'function')
          Object.assign(methods, {
            [name]: (...args: unknown[]) => {
              if (!OWN.test(`${port}.${name}`)) asked.push(`${port}.${name}`)
              return method.apply(methods, args)
            },
          })
  return asked
}

for (const engine of engines)
  describe(`a call that comes now and then, ${engine.name}`, () => {
    test('asks once for all that must be known of its key, once for each rate, once for its money, and later for none of them', async () => {
      const database = await engine.fresh()
      const server = await startTestServer({ url: database.url })
      const maker = await server.newKey({ rpm: 600 })
      const { token } = await server.newKey({ rpm: 60 }, { parentId: maker.id })
      const asked = watch(server.store)
      const call = async () => {
        asked.length = 0
        const answer = await server.post('/v1/chat/completions', chat(), {}, token)
        expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true])
        return asked.toSorted()
      }
      expect(await call()).toEqual([
        'keys.callerByHash',
        'ledger.commit',
        'ledger.lend',
        'rates.takeRates',
        'rates.takeRates',
      ])
      expect(await call()).toEqual(['ledger.commit'])
      await server.stop()
      await database.stop()
    })
  })
