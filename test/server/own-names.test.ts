/** Products that have names or forms of their own for what clients of OpenAI send: what they do take is not refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { modelOf } from '../../src/media/models.ts'
import { delta, events } from '../vendor-answers/speech.ts'
import { sold } from '../vendor-media.ts'
import { type AssetServer, startAssetServer } from './asset-rig.ts'
import { jsonOf, mockSetup } from './harness.ts'

const ids = ['openai/gpt-4o-mini-tts'] as const

const recordOf = (id: string) => {
  const record = sold.get(id)
  if (record === undefined) throw new Error(`no record ${id}`)
  return record
}

let server: AssetServer
let script: () => Response

const vendorOf = (id: string): string => id.slice(0, id.indexOf('/'))

beforeAll(async () => {
  const answer = async (): Promise<Response> => script()
  server = await startAssetServer({
    server: {
      models: ids.map((id) => modelOf(vendorOf(id), recordOf(id))),
      more: [...new Set(ids.map(vendorOf))].map((id) =>
        mockSetup({ id, media: { models: ids.filter((one) => vendorOf(one) === id).map(recordOf) } }, answer),
      ),
    },
  })
})
afterAll(() => server.stop())

describe('speech', () => {
  test('raw samples, which no head tells, are what was asked for', async () => {
    script = () => {
      const { headers, text } = events(delta, delta, {
        type: 'speech.audio.done',
        usage: { input_tokens: 3, output_tokens: 21 },
      })
      return new Response(text, { headers })
    }
    const body = { model: 'openai/gpt-4o-mini-tts', input: 'Hello.', response_format: 'pcm' }
    const response = await server.post('/v1/audio/speech', body)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/pcm'])
    expect(await response.text()).toBe('ID3ID3')
    const inputs = { input: 'Hello.', response_format: 'pcm' }
    const run = await jsonOf(await server.post('/v1/run', { model: 'openai/gpt-4o-mini-tts', inputs }))
    expect(run.outputs).toMatchObject([{ type: 'audio', media_type: 'audio/pcm', bytes: 6 }])
    const { headers } = await server.fetchUrl(run.outputs[0].url)
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'audio/pcm',
      expect.stringMatching(/^attachment; filename="[0-9a-f]{32}\.pcm"$/),
    ])
  })
})
