/** What a key may do to itself, and what a call may do to its key. */
import { expect, test } from 'bun:test'
import { chat, completion, jsonOf, startTestServer, testModel, USD } from '../server/harness.ts'
import { engines } from '../store/engines.ts'

for (const kind of engines.filter(({ name }) => name !== 'SQLite in a file')) {
  test(`a key without a rate of its own cannot give itself more than the plan's, ${kind.name}`, async () => {
    const database = await kind.fresh()
    // The ledger's minute does not end.
    const now = Date.now()
    const server = await startTestServer({ url: database.url, now: () => now, options: { planRpm: 5 } })
    try {
      server.answerWith(() => completion('x'))
      const { token } = await server.newKey()
      const put = async (rpm_limit: number | null) =>
        (await server.send('PUT', '/v1/key/wholesale/me/limits', { rpm_limit }, token)).status
      expect([await put(1_000), await put(6), await put(4), await put(5), await put(null)]).toEqual([
        403, 403, 200, 200, 200,
      ])
      const statuses = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const response = await server.post('/v1/chat/completions', chat(), {}, token)
          await response.arrayBuffer()
          return response.status
        }),
      )
      expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    } finally {
      await server.stop()
      await database.stop()
    }
  })

  test(`a document that a cap has no room for does not disable its key, ${kind.name}`, async () => {
    const database = await kind.fresh()
    const server = await startTestServer({
      url: database.url,
      models: [testModel('small', { contextTokens: 1_000_000 })],
    })
    try {
      server.answerWith(() => completion('x'))
      const { token } = await server.newKey({ spendCap: USD / 10n })
      const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }
      const document = chat({
        max_tokens: 5,
        messages: [{ role: 'user', content: [{ type: 'file', file }] }],
      })
      for (const body of [document, { ...document, max_tokens: undefined }]) {
        const refused = await server.post('/v1/chat/completions', body, {}, token)
        const { error } = await jsonOf(refused)
        expect([refused.status, error.limit, error.required_credits > error.available_credits]).toEqual([
          402,
          'spend_cap_usd',
          true,
        ])
      }
      const plain = await server.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token)
      expect(plain.status).toBe(200)
    } finally {
      await server.stop()
      await database.stop()
    }
  })
}
