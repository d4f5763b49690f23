/** A server on a real port, as clients meet it, on the built-in vendor. */
import { localFetch } from '../../src/transport/local.ts'
import { localModels } from '../../src/vendors/local/local.ts'
import { startTestServer, type TestServer } from '../server/harness.ts'

export type ListeningServer = {
  readonly server: TestServer
  readonly baseURL: string
  readonly key: string
  stop(): Promise<void>
}

/** The built-in models under the scripted vendor's name, so that tests may also script failures. */
export const listen = async (): Promise<ListeningServer> => {
  const server = await startTestServer({ models: localModels.map((model) => ({ ...model, vendor: 'mock' })) })
  server.answerWith((asked) =>
    localFetch(asked.url, {
      method: 'POST',
      body: asked.text,
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    }),
  )
  const listening = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  return {
    server,
    baseURL: `http://127.0.0.1:${listening.port}/v1`,
    key: (await server.newKey()).token,
    stop: async () => {
      await listening.stop(true)
      await server.stop()
    },
  }
}
