/** Jobs of a vendor that does not answer keep those of other vendors waiting for nothing. */
import { expect, test } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { modelOf } from '../../src/media/models.ts'
import { until } from '../until.ts'
import { jsonOf, mockVendor } from './harness.ts'
import { jobRecord, newVendor, startJobServer } from './job-rig.ts'

test('many jobs of a vendor that hangs keep no job of another vendor waiting', async () => {
  const other = newVendor()
  const film = jobRecord()
  const server = await startJobServer({
    server: {
      models: [modelOf('other', film)],
      more: [
        {
          vendor: { ...mockVendor, id: 'other', name: 'Other', media: { models: [film] } },
          baseUrl: mockVendor.baseUrl,
          secrets: [new Secret('other-key')],
          fetch: async (url, init) =>
            other.answer({
              url,
              method: init.method ?? 'POST',
              headers: new Headers(),
              body: {},
              text: '',
              signal: undefined,
            }),
        },
      ],
    },
  })
  const begin = async (model: string, key?: string) =>
    jsonOf(
      await server.post('/v1/run', { model, inputs: { prompt: 'a fox' } }, { prefer: 'respond-async' }, key),
    )
  let jobs = 0
  server.answerWith(({ method }) =>
    method === 'POST' ? Response.json({ id: `job-${++jobs}` }) : new Promise<never>(() => undefined),
  )
  try {
    // A key may have twenty open jobs.
    for (let keys = 0; keys < 4; keys++) {
      const { token } = await server.newKey()
      for (let n = 0; n < 18; n++) await begin('mock/film', token)
    }
    await until(() => server.gateway.memory.jobs.busy > 0)
    other.says(1)
    const { id } = await begin('other/film')
    await until(async () => (await server.store.runs.run(id))?.state === 'done')
    expect(server.gateway.memory.jobs.open.size).toBe(72)
  } finally {
    await server.crash()
    await server.stop()
  }
})
