/** Teams: their budget binds everything of them together, and their people see and change what is theirs alone. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { somebody, startConsoleOn, type TestConsole, type Visitor } from '../console/rig.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'

for (const engine of serverEngines)
  describe(`teams on ${engine.name}`, () => {
    let it: TestConsole
    let owner: Visitor
    beforeAll(async () => {
      it = await startConsoleOn(engine, { options: { guestRpm: 10_000 } })
      it.answerWith(() => completion('hello'))
      owner = await it.visit(somebody(), 'owner')
    })
    afterAll(() => it.stop())

    const call = async (token: string, more: Record<string, string> = {}) => {
      const answer = await it.post('/v1/chat/completions', chat({ max_tokens: 5 }), more, token)
      const { error } = await jsonOf(answer)
      return [answer.status, error?.limit ?? error?.code]
    }
    const made = async (by: Visitor, body: object = {}) => {
      const answer = await by.ask('POST', '/keys', { label: 'key', ...body })
      return { status: answer.status, ...(await jsonOf(answer)) }
    }
    const team = async (budget = '100') =>
      (
        await jsonOf(
          await owner.ask('POST', '/teams', { name: `team ${crypto.randomUUID()}`, budget_usd: budget }),
        )
      ).id as string
    const put = (id: string, { personId }: Visitor, role = 'member') =>
      owner.ask('PUT', `/teams/${id}/people/${personId}`, { role })
    const joined = async (id: string, role = 'member') => {
      const person = await it.visit(somebody(), 'developer')
      expect((await put(id, person, role)).status).toBe(200)
      return person
    }
    const listed = async (by: Visitor) =>
      (await jsonOf(await by.ask('GET', '/keys?limit=1000'))).data.map((key: { id: string }) => key.id)

    test('all keys of a team share its budget, and nothing else stops', async () => {
      const id = await team('0.000001')
      const [one, two] = [await joined(id), await joined(id)]
      const keys = [await made(one), await made(two), await made(owner, { sub_wallet: id })]
      for (const key of keys) expect([key.sub_wallet, await call(key.key)]).toEqual([id, [402, 'sub_wallet']])
      expect((await owner.ask('PUT', `/teams/${id}`, { budget_usd: 5 })).status).toBe(200)
      for (const { key } of keys) expect(await call(key)).toEqual([200, undefined])
      const { data } = await jsonOf(await owner.ask('GET', '/teams'))
      const shown = data.find((one: { id: string }) => one.id === id)
      expect(shown.people.map(({ id: person }: { id: string }) => person).sort()).toEqual(
        [one.personId, two.personId].sort(),
      )
      const spent = await jsonOf(await owner.ask('GET', `/usage?team=${id}&group_by=key`))
      expect([spent.total.requests, spent.total.cost_usd, spent.rows.length]).toEqual([3, shown.spent_usd, 3])
      expect((await jsonOf(await owner.ask('GET', `/calls?team=${id}&status=ok`))).data.length).toBe(3)
      expect(
        (await (await owner.ask('GET', `/usage.csv?team=${id}&group_by=key`)).text())
          .split('\n')
          .filter(Boolean).length,
      ).toBe(4)
    })

    test('in a hundred calls at once the budget is never passed', async () => {
      const id = await team('1')
      const keys = await Promise.all(
        Array.from({ length: 5 }, async () => (await made(await joined(id))).key as string),
      )
      const charge = async () => {
        const { data } = await jsonOf(await owner.ask('GET', '/teams'))
        return data.find((one: { id: string }) => one.id === id)
      }
      await call(keys[0] ?? '')
      const price = Number((await charge()).spent_usd)
      // Room for some of them: a call holds more than it costs.
      await owner.ask('PUT', `/teams/${id}`, { budget_usd: (price * 30).toFixed(9) })
      const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => call(keys[at % 5] ?? '')))
      const { spent_usd: spent, budget_usd: budget } = await charge()
      expect(Number(spent)).toBeLessThanOrEqual(Number(budget))
      expect(Number(spent)).toBeCloseTo(price * (1 + answers.filter(([status]) => status === 200).length), 9)
      // 429 where others' open calls hold what is left.
      for (const [status, limit] of answers)
        if (status !== 200) expect([[402, 429].includes(Number(status)), limit]).toEqual([true, 'sub_wallet'])
    })

    test('the month of a team binds all its calls together, and begins anew', async () => {
      const made1 = await owner.ask('POST', '/teams', { name: 'renewed', monthly_cap_usd: '1' })
      const { id, budget_usd: most } = await jsonOf(made1)
      expect(most).toBeNull()
      expect((await owner.ask('POST', '/teams', { name: 'unbound' })).status).toBe(400)
      const [one, two] = [await joined(id), await joined(id)]
      const keys = [await made(one), await made(two), await made(owner, { sub_wallet: id })]
      const month = async () => {
        const { data } = await jsonOf(await owner.ask('GET', '/teams'))
        return data.find((team: { id: string }) => team.id === id)
      }
      const cap = (usd: string) => owner.ask('PUT', `/teams/${id}`, { monthly_cap_usd: usd })
      for (const { key } of keys) expect(await call(key)).toEqual([200, undefined])
      const before = await month()
      expect([before.monthly_cap_usd, before.spent_month_usd]).toEqual(['1', before.spent_usd])
      const most10 = (Number(before.spent_usd) * 10).toFixed(9)
      expect((await cap(most10)).status).toBe(200)
      await Promise.all(Array.from({ length: 60 }, (_, at) => call(keys[at % 3]?.key)))
      const full = await month()
      expect(Number(full.spent_month_usd)).toBeLessThanOrEqual(Number(most10))
      expect((await cap(full.spent_month_usd)).status).toBe(200)
      for (const { key } of keys) expect(await call(key)).toEqual([402, 'budget'])
      const refused = await it.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, keys[0]?.key)
      const { error } = await jsonOf(refused)
      expect(error).toMatchObject({ period: 'month', budget: `@sub_wallet=${id}` })
      expect(error.message).toContain('the monthly budget of the team')
      expect(Date.parse(error.resets_at)).toBeGreaterThan(Date.now())
      // No caller says which team a call is of, and nobody else's calls count.
      const named = { 'x-turnpike-tags': `@sub_wallet=${id}` }
      expect((await call((await made(owner)).key, named))[0]).toBe(400)
      expect((await jsonOf(await owner.ask('GET', '/budgets'))).data).toEqual([])
      // Another month is another counter, as of a budget of a tag.
      expect((await cap('1')).status).toBe(200)
      for (const { key } of keys) expect(await call(key)).toEqual([200, undefined])
      const bound = async (body: object) => (await owner.ask('PUT', `/teams/${id}`, body)).status
      // One of the two always binds.
      expect(await bound({ monthly_cap_usd: null })).toBe(400)
      expect(await month()).toMatchObject({ budget_usd: null, monthly_cap_usd: '1' })
      expect(await bound({ budget_usd: '5' })).toBe(200)
      expect(await bound({ budget_usd: null })).toBe(200)
      expect(await bound({ budget_usd: null, monthly_cap_usd: null })).toBe(400)
      expect(await month()).toMatchObject({ budget_usd: null, monthly_cap_usd: '1' })
      expect(await bound({ budget_usd: '5', monthly_cap_usd: null })).toBe(200)
      expect(await month()).toMatchObject({ budget_usd: '5', monthly_cap_usd: null, spent_month_usd: null })
      for (const { key } of keys) expect(await call(key)).toEqual([200, undefined])
    })

    test('people of a team make keys for it alone, and release none', async () => {
      const [id, other] = [await team(), await team()]
      const person = await joined(id)
      const { id: key, sub_wallet: sub } = await made(person)
      expect(sub).toBe(id)
      expect((await made(person, { sub_wallet: other })).status).toBe(404)
      for (const [to, status] of [
        [null, 403],
        [other, 404],
        [id, 200],
      ] as const)
        expect((await person.ask('PUT', `/keys/${key}`, { sub_wallet: to })).status).toBe(status)
      // Who is in no team spends the money of none, by no way.
      const outside = await it.visit(somebody(), 'developer')
      expect((await made(outside, { sub_wallet: id })).status).toBe(404)
      const own = await made(outside)
      expect((await outside.ask('PUT', `/keys/${own.id}`, { sub_wallet: id })).status).toBe(404)
      expect((await call(own.key, { 'x-sub-wallet': id }))[0]).not.toBe(200)
    })

    test('the admin of a team makes and limits its keys, and sees their use and no other', async () => {
      const [id, other] = [await team(), await team()]
      const [lead, member, stranger] = [await joined(id, 'admin'), await joined(id), await joined(other)]
      const [theirs, elsewhere] = [await made(member), await made(stranger)]
      expect(await call(theirs.key)).toEqual([200, undefined])
      expect(await call(elsewhere.key)).toEqual([200, undefined])
      expect(await listed(lead)).toEqual([theirs.id])
      expect((await lead.ask('PUT', `/keys/${theirs.id}`, { rpm_limit: 3 })).status).toBe(200)
      expect((await lead.ask('PUT', `/keys/${elsewhere.id}`, { rpm_limit: 3 })).status).toBe(404)
      expect((await lead.ask('GET', `/keys/${elsewhere.id}`)).status).toBe(404)
      const { total } = await jsonOf(await lead.ask('GET', '/usage'))
      expect(total.requests).toBe(1)
      expect((await jsonOf(await lead.ask('GET', `/usage?team=${other}`))).total.requests).toBe(0)
      expect((await jsonOf(await lead.ask('GET', '/calls'))).data.length).toBe(1)
      // A member sees what they made themselves; nobody of a team changes the team.
      expect(await listed(member)).toEqual([theirs.id])
      expect((await lead.ask('PUT', `/teams/${id}`, { budget_usd: 1_000 })).status).toBe(403)
      expect((await lead.ask('PUT', `/teams/${id}/people/${lead.personId}`, { role: 'admin' })).status).toBe(
        403,
      )
      // No longer the admin of it.
      await put(id, lead)
      expect(await listed(lead)).toEqual([])
    })

    test('who leaves a team loses the keys made in it, and those of others go on', async () => {
      const id = await team()
      const [leaver, stays] = [await joined(id), await joined(id)]
      const [theirs, others] = [await made(leaver), await made(stays)]
      expect((await owner.ask('DELETE', `/teams/${id}/people/${leaver.personId}`)).status).toBe(200)
      expect((await call(theirs.key))[0]).toBe(403)
      expect(await call(others.key)).toEqual([200, undefined])
      expect((await owner.ask('DELETE', `/teams/${id}/people/${leaver.personId}`)).status).toBe(404)
      // Out of the organisation is out of its teams.
      expect((await owner.ask('DELETE', `/team/${stays.personId}`)).status).toBe(200)
      expect(await it.store.teams.teamsOf({ orgId: 'org_test', personId: stays.personId })).toEqual([])
    })

    test('a team that has ended spends nothing', async () => {
      const id = await team()
      const { key } = await made(await joined(id))
      expect(await call(key)).toEqual([200, undefined])
      expect((await owner.ask('DELETE', `/teams/${id}`)).status).toBe(200)
      expect((await call(key))[0]).not.toBe(200)
      expect((await owner.ask('PUT', `/teams/${id}`, { budget_usd: 5 })).status).toBe(404)
    })

    test('agents follow their person’s team: its budget, and what it tells them', async () => {
      const id = await team('0.000001')
      const person = await it.visit(somebody(), 'developer')
      const userCode = () =>
        Array.from(
          crypto.randomUUID().replaceAll('-', '').slice(0, 8),
          (one) => 'BCDFGHJKLMNPQRST'[Number.parseInt(one, 16)],
        ).join('')
      const approve = async () => {
        const code = userCode()
        const ask = {
          id: crypto.randomUUID(),
          deviceHash: crypto.randomUUID(),
          userCode: code,
          surface: 't',
          address: 't',
          lifeMs: 60_000,
        }
        await it.store.logins.askLogin(ask)
        const answer = await person.ask('POST', `/logins/asked/${code}/approve`, {})
        return (await jsonOf(answer)).key as string
      }
      const key = await approve()
      const bound = async () => (await it.store.keys.key(key))?.subWallet
      expect(await bound()).toBeUndefined()
      await put(id, person)
      expect(await bound()).toBe(id)
      expect(await approve()).toBe(key)
      await owner.ask('DELETE', `/teams/${id}/people/${person.personId}`)
      expect(await bound()).toBeUndefined()
      // It is theirs in every team, so leaving one does not stop it.
      expect(await approve()).toBe(key)
    })

    test('agents are told what their team says, else what the organisation says', async () => {
      const id = await team()
      const { key } = await made(await joined(id))
      const { key: plain } = await made(owner)
      const told = async (token: string) => {
        const answer = await it.fetch(
          new Request('http://turnpike.test/managed/settings', {
            headers: { authorization: `Bearer ${token}` },
          }),
        )
        return (await jsonOf(answer)).settings
      }
      await owner.ask('PUT', '/agent-settings', { settings: { of: 'organisation' } })
      expect([await told(key), await told(plain)]).toEqual([{ of: 'organisation' }, { of: 'organisation' }])
      expect((await owner.ask('PUT', '/agent-settings', { team: id, settings: { of: 'team' } })).status).toBe(
        200,
      )
      expect([await told(key), await told(plain)]).toEqual([{ of: 'team' }, { of: 'organisation' }])
      expect(await jsonOf(await owner.ask('GET', `/agent-settings?team=${id}`))).toEqual({
        settings: { of: 'team' },
      })
      await owner.ask('PUT', '/agent-settings', { team: id, settings: null })
      expect(await told(key)).toEqual({ of: 'organisation' })
      expect((await owner.ask('PUT', '/agent-settings', { team: 'sub_none', settings: null })).status).toBe(
        404,
      )
    })
  })
