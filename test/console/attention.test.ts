/** What goes wrong is seen: the overview names whose calls are not answered, and the rate of a vendor counts every attempt. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let operator: Visitor
    beforeAll(async () => {
      it = await startConsoleOn(engine)
      owner = await it.visit('owner@example.com', 'owner')
      operator = await it.visit('operator@example.com', 'admin', 'org_test', true)
    })
    afterAll(() => it.stop())

    const ask = async (token: string, body: object = chat({ max_tokens: 5 })) => {
      const response = await it.post('/v1/chat/completions', body, {}, token)
      await response.text()
      return response.status
    }
    const attention = async (of: Visitor) => {
      await it.gateway.memory.failures.end()
      return (await jsonOf(await of.ask('GET', '/overview'))).attention as readonly {
        kind: string
        text: string
        search?: object
      }[]
    }

    test('a tenant that is refused is named with the reason, and a mistake of a caller is not', async () => {
      it.answerWith(() => completion('hello'))
      const { id, token } = await it.newKey({ allowedModels: ['other/*'] }, { label: 'Blue Harbour' })
      for (let n = 0; n < 8; n++) expect(await ask(token)).toBe(403)
      const { token: sloppy } = await it.newKey({}, { label: 'sloppy' })
      expect(await ask(sloppy, chat({ max_tokens: -1 }))).toBe(400)
      const told = await attention(owner)
      expect(told.filter(({ kind }) => kind === 'refused')).toEqual([
        {
          kind: 'refused',
          text: 'Blue Harbour: 8 calls were not answered today (model not allowed).',
          to: '/calls',
          search: { key: id, code: 'model_not_allowed' },
        } as never,
      ])
    })

    test('a warning and an alert that tell nobody are named, until they tell somebody', async () => {
      const untold = async () =>
        (await attention(owner)).filter(({ kind }) => kind === 'untold').map(({ text }) => text)
      expect(await untold()).toEqual([])
      // Found: a warning below 200 without an address was saved, warned nobody, and all was said to be well.
      expect((await owner.ask('PUT', '/rules', { alert_below_usd: '200' })).status).toBe(200)
      expect(await untold()).toEqual(['The alert Warn below tells nobody: give it a channel.'])
      await owner.ask('PUT', '/rules', { alert_webhook_url: 'https://hooks.example.com/low' })
      expect(await untold()).toEqual([])
      const alert = { name: 'May', kind: 'wallet', amount_usd: '5', steps: [50] }
      const made = await jsonOf(await owner.ask('POST', '/alerts', { ...alert, channels: [] }))
      expect(await untold()).toEqual(['The alert May tells nobody: give it a channel.'])
      const slack = { name: 'ops', kind: 'slack', target: 'https://hooks.slack.com/services/T/B/X' }
      const channel = await jsonOf(await owner.ask('POST', '/alert-channels', slack))
      await owner.ask('PUT', `/alerts/${made.id}`, { ...alert, channels: [channel.id] })
      expect(await untold()).toEqual([])
      await it.store.alerts.noteReached(made.id, [{ period: 'p', step: 50, message: { title: 'May' } }])
      const told = await attention(owner)
      expect(told.filter(({ kind }) => kind === 'alert').map(({ text }) => text)).toEqual([
        'Alert: May reached 50 %.',
      ])
      await owner.ask('DELETE', `/alert-channels/${channel.id}`)
      expect(await untold()).toEqual(['The alert May tells nobody: give it a channel.'])
      await owner.ask('DELETE', `/alerts/${made.id}`)
    })

    test('another organisation, and a developer who did not make the key, read nothing of it', async () => {
      await it.store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'Other' }, byTest)
      const stranger = await it.visit('stranger@example.com', 'owner', 'org_other')
      const developer = await it.visit('developer@example.com', 'developer')
      for (const other of [stranger, developer]) {
        expect((await attention(other)).filter(({ kind }) => kind === 'refused')).toEqual([])
        expect((await jsonOf(await other.ask('GET', '/calls?status=not_ok'))).data).toEqual([])
      }
    })

    test('a vendor that fails each attempt has failed all of them, and operators read its name', async () => {
      const { token } = await it.newKey({}, { label: 'unlucky' })
      it.answerWith(() => new Response('{"error":{"message":"no"}}', { status: 500 }))
      for (let n = 0; n < 4; n++) expect(await ask(token)).toBeGreaterThanOrEqual(500)
      expect((await attention(operator)).map(({ text }) => text).join('\n')).toMatch(
        /Mock failed \d+ times in a row/,
      )
      expect((await attention(owner)).map(({ kind }) => kind)).not.toContain('vendor')
      const [mock] = (await jsonOf(await operator.ask('GET', '/operator/vendors'))).data
      expect(mock.calls).toBeGreaterThanOrEqual(4)
      expect(mock.failed).toBe(mock.calls)
      // A caller's own mistake at a vendor is none of the vendor's failures.
      const before = mock
      it.answerWith(() => new Response('{"error":{"message":"bad","param":"messages"}}', { status: 400 }))
      expect(await ask(token)).toBe(400)
      it.answerWith(() => completion('hello'))
      expect(await ask(token)).toBe(200)
      await it.gateway.memory.failures.end()
      const [after] = (await jsonOf(await operator.ask('GET', '/operator/vendors'))).data
      expect([after.calls - before.calls, after.failed - before.failed]).toEqual([2, 0])
    })

    test('the CSV has what the list has, and what a spreadsheet would run is text', async () => {
      const { token } = await it.newKey({ allowedModels: ['other/*'] }, { label: '=1+1' })
      await ask(token)
      await it.gateway.memory.failures.end()
      const text = await (await owner.ask('GET', '/calls.csv?status=refused')).text()
      const [head = '', ...lines] = text.trim().split('\r\n')
      expect(head).toContain('at,id,model,vendor,status,http_status,code,limit,param,cost_usd')
      const { data } = await jsonOf(await owner.ask('GET', '/calls?status=refused&limit=500'))
      expect(lines.map((line) => line.split(',')[1])).toEqual(data.map(({ id }: { id: string }) => id))
      expect(lines[0]).toContain("'=1+1")
    })

    test('the busiest keys are those that cost most, in their order', async () => {
      it.answerWith(() => completion('hello'))
      for (let busy = 1; busy <= 7; busy++) {
        const { token } = await it.newKey({}, { label: `${busy} calls` })
        for (let calls = busy; calls > 0; calls--) expect(await ask(token)).toBe(200)
      }
      const { keys } = await jsonOf(await owner.ask('GET', '/overview'))
      expect(keys.map(({ label }: { label: string }) => label)).toEqual(
        [7, 6, 5, 4, 3].map((n) => `${n} calls`),
      )
    })
  })
