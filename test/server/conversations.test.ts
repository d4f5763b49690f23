/**
 * Conversations, as the official client makes and uses them: responses are asked with their items and add to them, with
 * every kind of vendor, in the background and on a socket too.
 */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import type OpenAI from 'openai'
import { byTest } from '../by-test.ts'
import { messageItem, response } from '../dialects/responses-vendor.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { completion, jsonOf, startTestServer, type TestServer } from './harness.ts'
import { clientOf } from './official-client.ts'

const HOUR = 3_600_000
const said = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })
const textsOf = (items: readonly any[]): string[] =>
  items.map(({ role, content }) => `${role}: ${content[0].text}`)
const failure = (work: PromiseLike<unknown>): PromiseLike<string> =>
  work.then(
    () => 'it worked',
    ({ status, message }) => `${status} ${message}`,
  )

for (const engine of serverEngines)
  describe(engine.name, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    let client: OpenAI
    let token: string

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url, options: { responsesKeptMs: HOUR } })
      token = (await server.newKey()).token
      client = clientOf(server, token)
    })
    afterAll(async () => {
      const broken = await brokenLaws(server.store)
      await server.stop()
      await database.stop()
      expect(broken).toEqual([])
    })

    test('made, read, changed, its items added, listed, read and deleted, and itself', async () => {
      const made = await client.conversations.create({ items: [said('one')], metadata: { topic: 'numbers' } })
      expect([made.object, made.metadata]).toEqual(['conversation', { topic: 'numbers' }])
      expect(await client.conversations.retrieve(made.id)).toEqual(made)
      const changed = await client.conversations.update(made.id, { metadata: { topic: 'words' } })
      expect(changed).toEqual({ ...made, metadata: { topic: 'words' } })
      const added = await client.conversations.items.create(made.id, { items: [said('two'), said('three')] })
      expect(textsOf(added.data)).toEqual(['user: two', 'user: three'])
      const all: any[] = []
      for await (const item of client.conversations.items.list(made.id, { order: 'asc', limit: 2 }))
        all.push(item)
      expect(textsOf(all)).toEqual(['user: one', 'user: two', 'user: three'])
      expect(new Set(all.map(({ id }) => id)).size).toBe(3)
      const second = { conversation_id: made.id }
      expect(await client.conversations.items.retrieve(all[1].id, second)).toEqual(all[1])
      expect(await client.conversations.items.delete(all[1].id, second)).toEqual(changed)
      expect(await failure(client.conversations.items.retrieve(all[1].id, second))).toContain('404')
      expect(textsOf((await client.conversations.items.list(made.id)).data)).toEqual([
        'user: three',
        'user: one',
      ])
      expect(await client.conversations.delete(made.id)).toEqual({
        id: made.id,
        object: 'conversation.deleted',
        deleted: true,
      })
      expect(await failure(client.conversations.retrieve(made.id))).toContain(
        'There is no conversation of this id',
      )
      expect(await failure(client.conversations.items.list(made.id))).toContain('404')
    })

    test('turns name it and bring only what is new: whole, as an object, in the background', async () => {
      server.answerWith(() => completion('hello'))
      const { id } = await client.conversations.create({ items: [said('one')] })
      const asked = { model: 'mock/small' }
      const first = await client.responses.create({ ...asked, input: 'two', conversation: id })
      expect(first.conversation).toEqual({ id })
      await client.responses.create({ ...asked, input: 'three', conversation: { id }, store: false })
      const later = await client.responses.create({
        ...asked,
        input: 'four',
        conversation: id,
        background: true,
      })
      await until(async () => (await client.responses.retrieve(later.id)).status === 'completed')
      const turn = (text: string) => [
        { role: 'user', content: text },
        { role: 'assistant', content: 'hello' },
      ]
      expect(server.asked.at(-1)?.body.messages).toEqual([
        { role: 'user', content: 'one' },
        ...turn('two'),
        ...turn('three'),
        { role: 'user', content: 'four' },
      ])
      const items = await client.conversations.items.list(id, { order: 'asc' })
      expect(textsOf(items.data)).toEqual([
        'user: one',
        ...['two', 'three', 'four'].flatMap((text) => [`user: ${text}`, 'assistant: hello']),
      ])
      // The response before has only a part of what was said, so it is not continued by its id.
      const wrong = client.responses.create({ ...asked, input: 'x', previous_response_id: first.id })
      expect(await failure(wrong)).toContain("belongs to a conversation that is named in 'conversation'")
      expect((await client.responses.retrieve(first.id)).output_text).toBe('hello')
    })

    test('a turn that fails adds nothing; a vendor of the same dialect sees no id of ours', async () => {
      const own = await startTestServer({
        url: database.url,
        vendor: { speaks: 'responses' },
        options: { responsesKeptMs: HOUR },
      })
      try {
        const there = clientOf(own, (await own.newKey()).token)
        const { id } = await there.conversations.create({ items: [said('one')] })
        own.answerWith(() => new Response('{}', { status: 500 }))
        const asked = { model: 'mock/small', input: 'two', conversation: id }
        expect(await failure(there.responses.create(asked))).toContain('The vendor mock failed')
        own.answerWith(() => Response.json(response([messageItem('hello', 'msg_v')], { id: 'resp_v' })))
        const { conversation, output_text } = await there.responses.create(asked)
        expect([conversation, output_text]).toEqual([{ id }, 'hello'])
        expect(own.asked.at(-1)?.body.input).toEqual([said('one'), said('two')])
        await there.responses.create({ ...asked, input: 'three' })
        expect<unknown>(own.asked.at(-1)?.body.input).toEqual([
          said('one'),
          said('two'),
          messageItem('hello', 'msg_v'),
          said('three'),
        ])
      } finally {
        await own.stop()
      }
    })

    test('ids that no ledger takes name nothing, and words that are odd are kept as they are', async () => {
      server.answerWith(() => completion('hello'))
      const { id } = await client.conversations.create()
      const odd = { ...said('a\u0000b \ud800'), id: 'a\u0000b' }
      const { data } = await client.conversations.items.create(id, { items: [odd as never] })
      expect(data[0]?.id).toStartWith('item_')
      const asked = { model: 'mock/small', input: [odd as never] }
      for (const more of [{ previous_response_id: 'a\u0000b' }, { conversation: 'conv_\u0000' }])
        expect(await failure(client.responses.create({ ...asked, ...more }))).toStartWith('400')
      const reference = { type: 'item_reference', id: 'a\u0000b' } as const
      expect(await failure(client.responses.create({ ...asked, input: [reference] }))).toStartWith('400')
      await client.responses.create({ ...asked, conversation: id })
      const items = await client.conversations.items.list(id, { order: 'asc' })
      expect(textsOf(items.data)).toEqual([
        'user: a\u0000b \ud800',
        'user: a\u0000b \ud800',
        'assistant: hello',
      ])
    })

    test('a full one says so, and has room again for what is taken out', async () => {
      const big = (id: string) => ({ ...said('x'.repeat(400_000)), id })
      const { id } = await client.conversations.create({ items: [big('msg_a'), big('msg_b')] as never })
      const more = { items: [big('msg_c')] as never }
      expect(await failure(client.conversations.items.create(id, more))).toMatch(/^413 .*would be larger/)
      await client.conversations.items.delete('msg_a', { conversation_id: id })
      await client.conversations.items.create(id, more)
      // Answers that come at once keep within its bound too.
      server.answerWith(() => completion('hello'))
      await client.conversations.items.delete('msg_b', { conversation_id: id })
      const asked = { model: 'mock/small', conversation: id, input: 'y'.repeat(400_000), store: false }
      await Promise.all([client.responses.create(asked), client.responses.create(asked)])
      expect((await client.conversations.items.list(id)).data).toHaveLength(3)
    })

    test('a disabled key reads nothing, and may delete what it has', async () => {
      const key = await server.newKey()
      const there = clientOf(server, key.token)
      const { id } = await there.conversations.create({ items: [{ ...said('one'), id: 'msg_1' } as never] })
      const { book } = server.gateway
      await book.changeKey(key.id, { disabledReason: 'operator', byCreator: false } as never, byTest)
      const item = { conversation_id: id }
      for (const read of [
        () => there.conversations.retrieve(id),
        () => there.conversations.items.list(id),
        () => there.conversations.items.retrieve('msg_1', item),
      ])
        expect(await failure(read())).toStartWith('403')
      expect((await there.conversations.items.delete('msg_1', item)).id).toBe(id)
      expect(await there.conversations.delete(id)).toMatchObject({ deleted: true })
    })

    test('the head is read without items, a page loads its own, and pages take turns', async () => {
      const key = await server.newKey({ rpm: 3 })
      const there = clientOf(server, key.token)
      const { id } = await there.conversations.create({ items: ['one', 'two', 'three'].map(said) })
      const whole = spyOn(server.store.responses, 'keptResponse')
      const pages = spyOn(server.store.responses, 'itemsAt')
      try {
        await there.conversations.retrieve(id)
        const read = await server.get(`/v1/conversations/${id}/items?limit=1`, key.token)
        expect(read.headers.get('x-ratelimit-remaining')).toBe('1')
        expect((await jsonOf(read)).has_more).toBe(true)
        expect(whole).not.toHaveBeenCalled()
        expect(pages.mock.calls.map(([, from, to]) => [from, to])).toEqual([[2, 2]])
      } finally {
        whole.mockRestore()
        pages.mockRestore()
      }
    })

    test('what is wrong is named; another key sees nothing; a conversation is no response', async () => {
      const { id } = await client.conversations.create()
      const asked = { model: 'mock/small', input: 'x' }
      const both = client.responses.create({ ...asked, conversation: id, previous_response_id: 'resp_1' })
      expect(await failure(both)).toContain(
        "'conversation' cannot be used together with 'previous_response_id'",
      )
      const gone = await server.post('/v1/responses', { ...asked, conversation: 'conv_gone' }, {}, token)
      const { error } = await jsonOf(gone)
      expect([gone.status, error.param]).toEqual([404, 'conversation'])
      expect(error.message).toStartWith('There is no conversation of this id')
      expect(await failure(client.responses.create({ ...asked, conversation: 'nothing' }))).toContain(
        "'conversation' must be the id of a conversation",
      )
      const told = async (body: object) =>
        (await jsonOf(await server.post('/v1/conversations', body, {}, token))).error.param
      expect(await told({ items: ['text'] })).toBe('items.0')
      expect(await told({ items: [{ type: 'item_reference', id: 'msg_1' }] })).toBe('items.0')
      expect(await told({ metadata: { a: 1 } })).toBe('metadata.a')
      for (const act of ['retrieve', 'delete', 'cancel'] as const)
        expect(await failure(client.responses[act](id))).toContain('There is no response of this id')
      const stranger = clientOf(server, (await server.newKey()).token)
      for (const work of [
        () => stranger.conversations.retrieve(id),
        () => stranger.conversations.update(id, { metadata: {} }),
        () => stranger.conversations.items.create(id, { items: [said('x')] }),
        () => stranger.conversations.items.list(id),
        () => stranger.conversations.delete(id),
        () => stranger.responses.create({ ...asked, conversation: id }),
      ])
        expect(await failure(work())).toContain('There is no conversation of this id')
    })
  })

test('where nothing is kept, the refusals name the setting', async () => {
  const server = await startTestServer({ options: { responsesKeptMs: 0 } })
  try {
    for (const [path, body] of [
      ['/v1/conversations', {}],
      ['/v1/responses', { model: 'mock/small', input: 'x', conversation: 'conv_1' }],
    ] as const) {
      const answer = await server.post(path, body)
      expect([answer.status, (await jsonOf(answer)).error.message]).toEqual([
        400,
        expect.stringContaining('RESPONSES_STORE'),
      ])
    }
  } finally {
    await server.stop()
  }
})
