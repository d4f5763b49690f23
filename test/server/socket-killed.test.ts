/**
 * A turn on a socket is cut: the server is killed, or the vendor's connection breaks. What was delivered is charged once, and
 * the client goes on: on a new socket or over HTTP with the whole conversation, or from a response that was stored.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openStore } from '../../src/store/open-store.ts'
import { openView } from '../chaos/view.ts'
import { messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'
import { endPrograms, startProgram } from '../program.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { openResponses } from './responses-socket.ts'

afterAll(endPrograms)

/** A vendor whose answers to a prompt with the word hang or break do so after their first words. */
const startVendor = async () => {
  let serial = 0
  const asked: any[] = []
  const server = createServer(async (request, answer) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = JSON.parse(Buffer.concat(pieces).toString())
    asked.push(body)
    const id = `resp_vendor${++serial}`
    const events = responseEvents(
      response([messageItem('Some words of an answer. '.repeat(60), `msg_${serial}`)], { id }),
    )
    const how = /"content":"(hang|break)"/.exec(JSON.stringify(body.input.at(-1)))?.[1]
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    if (how === undefined) return answer.end(events.join(''))
    answer.write(events.slice(0, -6).join(''))
    if (how === 'break') setTimeout(() => answer.destroy(), 50)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { asked, url: `http://127.0.0.1:${port}/v1`, stop: () => server.closeAllConnections() }
}

const user = (content: string) => ({ type: 'message', role: 'user', content })
const said = (answer: any) => answer.response.output

for (const engine of engines.filter(({ lasting }) => lasting))
  describe(engine.name, () => {
    test('killed or cut in the middle of a turn, it is charged once, and the client goes on', async () => {
      const home = await tempFolder('turnpike-cut-')
      const database = await engine.fresh()
      const vendor = await startVendor()
      const settings = {
        DATABASE_URL: database.url,
        OPENAI_API_KEY: 'sk-house',
        OPENAI_BASE_URL: vendor.url,
        LOG: 'off',
      }
      const model = 'openai/gpt-4.1'
      let server = await startProgram(home, settings)
      const { token } = server
      const open = () => openResponses({ base: `${server.address.replace('http://', '')}/v1`, token })
      const store = await openStore({ url: database.url })
      const view = openView(database.url)
      /** The charges of a call. */
      const charges = async (callId: string) =>
        (await store.ledger.transfersOf(callId))
          .filter(({ kind }) => kind === 'usage')
          .map(({ amount }) => amount)
      const words = async (socket: Awaited<ReturnType<typeof open>>, from: number): Promise<string> => {
        const isNew = ({ type }: any) => type === 'response.output_text.delta'
        await until(() => socket.events.slice(from).some(isNew))
        return socket.events.slice(from)[0].headers['x-request-id']
      }
      try {
        const first = await open()
        const one = await first.turn({ model, input: [user('one')] })
        const secret = await first.turn({
          model,
          store: false,
          input: [user('two')],
          previous_response_id: one.response.id,
        })

        let seen = first.events.length
        first.send({
          type: 'response.create',
          model,
          store: false,
          input: [user('break')],
          previous_response_id: secret.response.id,
        })
        const cut = await words(first, seen)
        const ended = await first.end()
        expect(ended).toMatchObject({ type: 'error', status: 503, error: { code: 'upstream_error' } })
        await until(async () => (await charges(cut)).length === 1)

        seen = first.events.length
        first.send({
          type: 'response.create',
          model,
          store: false,
          input: [user('hang')],
          previous_response_id: secret.response.id,
        })
        const killed = await words(first, seen)
        const delivered = `select 1 from inflight where call_id = '${killed}' and spent > 0`
        await until(async () => (await view.rows(delivered)).length === 1)
        server.child.kill('SIGKILL')
        await server.child.exited
        await first.closed
        server = await startProgram(home, settings)
        // The living do this for the dead; here without their patience.
        await until(async () => {
          await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
          return (await charges(killed)).length === 1
        })

        // A new socket does not know what was not stored, and says so as clients know it.
        const second = await open()
        const lost = await second.turn({
          model,
          input: [user('go on')],
          previous_response_id: secret.response.id,
        })
        expect(lost.error.code).toBe('previous_response_not_found')
        const whole = [user('one'), ...said(one), user('two'), ...said(secret), user('go on')]
        expect((await second.turn({ model, store: false, input: whole })).type).toBe('response.completed')
        const stored = await second.turn({
          model,
          input: [user('go on')],
          previous_response_id: one.response.id,
        })
        expect(stored.type).toBe('response.completed')
        expect(vendor.asked.at(-1).input.map(({ role }: any) => role)).toEqual(['user', 'assistant', 'user'])
        const posted = await fetch(`${server.address}/v1/responses`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, store: false, stream: true, input: whole }),
        })
        expect([posted.status, (await posted.text()).includes('response.completed')]).toEqual([200, true])

        expect([(await charges(cut)).length, (await charges(killed)).length]).toEqual([1, 1])
        expect(vendor.asked.length).toBe(7)
        second.socket.close()
        expect(await brokenLaws(store)).toEqual([])
      } finally {
        server.child.kill('SIGKILL')
        await server.child.exited
        await view.close()
        await store.close()
        vendor.stop()
        await database.stop()
        await rm(home, { recursive: true, force: true })
      }
    })
  })
