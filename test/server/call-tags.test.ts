/** What a call is for: how each style of callers names an end user, a key's own tags, and where all that is told. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { createLog } from '../../src/core/log.ts'
import { stopSound } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

const TAGS = 'x-turnpike-tags'
const lines: string[] = []
let server: TestServer
let owner: { id: string; token: string }

beforeAll(async () => {
  server = await startTestServer({
    models: [testModel('small'), testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 })],
    log: createLog('call', Date.now, (line) => void lines.push(line)),
  })
  owner = await server.newKey({}, { canManage: true })
})
afterAll(() => stopSound(server, { stop: async () => undefined }))

const callOf = async (answered: Response, token = owner.token) =>
  jsonOf(await server.get(`/v1/calls/${answered.headers.get('x-request-id')}`, token))
const tagsOf = async (answered: Response, token?: string) => (await callOf(answered, token)).tags

const said = 'Say hi'
const text = { role: 'user', content: said }

describe('a caller names the end user as its vendor wants it', () => {
  test.each<[string, object, object]>([
    ['/v1/chat/completions', { ...chat(), user: 'ann' }, { user: 'ann' }],
    ['/v1/chat/completions', { ...chat(), user: 'ann', safety_identifier: 'hash' }, { user: 'hash' }],
    [
      '/v1/chat/completions',
      { ...chat(), metadata: { team: 'red', 'no tag': 'x', long: 'x'.repeat(300) } },
      { team: 'red' },
    ],
    ['/v1/responses', { model: 'mock/small', input: said, safety_identifier: 'ann' }, { user: 'ann' }],
    [
      '/v1/responses',
      { model: 'mock/small', input: said, metadata: { feature: 'search' } },
      { feature: 'search' },
    ],
    [
      '/v1/messages',
      { model: 'mock/small', max_tokens: 50, messages: [text], metadata: { user_id: 'ann' } },
      { user: 'ann' },
    ],
    ['/v1/embeddings', { model: 'mock/embed', input: said, user: 'ann' }, { user: 'ann' }],
    ['/v1/completions', { model: 'mock/small', prompt: said, user: 'ann' }, { user: 'ann' }],
  ])('%s with %j is for %j, and is refused under that budget', async (path, body, tags) => {
    const { token } = await server.newKey({}, { canManage: true })
    if (path === '/v1/embeddings')
      server.answerWith(() =>
        Response.json({
          object: 'list',
          data: [{ object: 'embedding', index: 0, embedding: [0] }],
          model: 'm',
          usage: { prompt_tokens: 3, total_tokens: 3 },
        }),
      )
    const answered = await server.post(path, body, {}, token)
    expect(answered.status).toBe(200)
    expect(await tagsOf(answered, token)).toEqual(tags as never)
    const [[tag, value]] = Object.entries(tags) as [[string, string]]
    const put = await server.send(
      'PUT',
      `/v1/budgets/${tag}`,
      { value, spend_cap_usd: 0.000000001 },
      owner.token,
    )
    expect(put.status).toBe(200)
    const refused = await server.post(path, body, {}, token)
    expect([refused.status, (await jsonOf(refused)).error.limit]).toEqual([402, 'budget'])
    await server.send('DELETE', `/v1/budgets/${tag}?value=${value}`, undefined, owner.token)
    server.answerWith(() => completion('hello'))
  })

  test('Gemini by labels, and a socket by a member of its messages', async () => {
    const body = { contents: [{ role: 'user', parts: [{ text: said }] }], labels: { team: 'blue' } }
    const answered = await server.post('/v1beta/models/mock%2Fsmall:generateContent', body, {}, owner.token)
    expect([answered.status, await tagsOf(answered)]).toEqual([200, { team: 'blue' }])
  })
})

test('the header goes before the body, and is read strictly', async () => {
  const answered = await server.post(
    '/v1/chat/completions',
    { ...chat(), user: 'ann', metadata: { team: 'red' } },
    { [TAGS]: 'user=bea, feature=a%2Cb' },
    owner.token,
  )
  expect(await tagsOf(answered)).toEqual({ user: 'bea', team: 'red', feature: 'a,b' })
  for (const wrong of [
    '',
    'team',
    '=x',
    'team=',
    'te am=x',
    'team=a,team=b',
    `team=${'x'.repeat(257)}`,
    'team=%',
    'team=%0a',
    `${'n'.repeat(65)}=x`,
    Array.from({ length: 17 }, (_, n) => `t${n}=x`).join(','),
  ]) {
    const refused = await server.post('/v1/chat/completions', chat(), { [TAGS]: wrong }, owner.token)
    const { error } = await jsonOf(refused)
    expect([wrong, refused.status, error.param]).toEqual([wrong, 400, 'X-Turnpike-Tags'])
  }
})

test('a key has tags of its own: calls may say otherwise, but not of those that are fixed, nor keys below', async () => {
  const made = await jsonOf(
    await server.send(
      'POST',
      '/v1/key/wholesale',
      { label: 'app', can_manage: true, tags: { team: { value: 'red', fixed: true }, feature: 'search' } },
      owner.token,
    ),
  )
  const { key: token, id } = made.data
  const call = async (headers: Record<string, string> = {}, body: object = {}, as = token) =>
    server.post('/v1/chat/completions', { ...chat(), ...body }, headers, as)
  expect(await tagsOf(await call(), token)).toEqual({ team: 'red', feature: 'search' })
  expect(await tagsOf(await call({ [TAGS]: 'feature=chat,user=x' }), token)).toEqual({
    team: 'red',
    feature: 'chat',
    user: 'x',
  })
  // What a body says was written for a vendor: it does not stop the call, and changes nothing.
  expect(await tagsOf(await call({}, { metadata: { team: 'blue' } }), token)).toEqual({
    team: 'red',
    feature: 'search',
  })
  const refused = await call({ [TAGS]: 'team=blue' })
  expect([refused.status, (await jsonOf(refused)).error.message]).toEqual([
    400,
    "The key says team=red of all its calls; leave 'team' out of 'X-Turnpike-Tags'.",
  ])
  const below = await jsonOf(
    await server.send(
      'POST',
      '/v1/key/wholesale',
      { label: 'below', tags: { team: 'green', user: 'y' } },
      token,
    ),
  )
  expect(await tagsOf(await call({}, {}, below.data.key), below.data.key)).toEqual({ team: 'red', user: 'y' })
  const self = await server.send('PUT', '/v1/key/wholesale/me/limits', { tags: null }, token)
  expect([self.status, (await jsonOf(self)).error.param]).toEqual([403, 'tags'])
  const rotated = await jsonOf(await server.get(`/v1/key/wholesale/${id}`, owner.token))
  expect(rotated.data.tags).toEqual({
    team: { value: 'red', fixed: true },
    feature: { value: 'search', fixed: false },
  })
  const changed = await server.send(
    'PUT',
    `/v1/key/wholesale/${id}/limits`,
    { tags: { team: 'red' } },
    owner.token,
  )
  expect(changed.status).toBe(200)
  expect(await tagsOf(await call({ [TAGS]: 'team=blue' }), token)).toEqual({ team: 'blue' })
  for (const tags of [
    { 'a b': 'x' },
    { a: '' },
    { a: { value: 'x', fixed: 1 } },
    { a: { value: 'x', other: 1 } },
    { a: 5 },
    [],
  ]) {
    const wrong = await server.send('PUT', `/v1/key/wholesale/${id}/limits`, { tags }, owner.token)
    expect([wrong.status, (await jsonOf(wrong)).error.param]).toEqual([400, 'tags'])
  }
})

test('lists, usage, receipts and the log tell what calls were for; one key does not see what another one was for', async () => {
  const { token } = await server.newKey({}, { canManage: true })
  const stranger = await server.newKey()
  const call = (tags: string) => server.post('/v1/chat/completions', chat(), { [TAGS]: tags }, token)
  const red = await call('project=red,user=ann')
  await call('project=red')
  await call('project=blue')
  const list = async (tag: string, as = token) =>
    (await jsonOf(await server.get(`/v1/calls?tag=${tag}`, as))).data
  expect(await list('project=red')).toHaveLength(2)
  expect(await list('project')).toHaveLength(3)
  expect(await list('user=ann')).toHaveLength(1)
  expect(await list('project', stranger.token)).toEqual([])
  const usage = await jsonOf(await server.get('/v1/usage?group_by=tag&tag=project', token))
  expect(
    usage.data.rows.map(({ tag, requests }: { tag: string; requests: number }) => [tag, requests]),
  ).toEqual([
    ['blue', 1],
    ['red', 2],
  ])
  const one = await jsonOf(await server.get('/v1/usage?group_by=day&tag=project%3Dred', token))
  expect(one.data.total.requests).toBe(2)
  for (const query of ['group_by=tag', 'tag=project', 'tag=pro%20ject&group_by=tag'])
    expect((await server.get(`/v1/usage?${query}`, token)).status).toBe(400)
  const receipt = decodeJwt(red.headers.get('x-receipt') ?? '')
  expect(receipt.tags).toEqual({ project: 'red', user: 'ann' })
  const line = lines.map((one) => JSON.parse(one)).find((one) => one.call === red.headers.get('x-request-id'))
  expect(line.tags).toEqual({ project: 'red', user: 'ann' })
})
