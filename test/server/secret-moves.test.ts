/** A key whose hash moves to another secret of the server: it is noted once, and never unknown on the way. */
import { expect, test } from 'bun:test'
import { serverEngines } from '../store/engines.ts'
import { chat, completion, hashOf, startTestServer } from './harness.ts'

const old = hashOf('old')
const present = hashOf('new', old)

for (const engine of serverEngines) {
  /** A server with another secret than the one its key was made under. */
  const scene = async () => {
    const database = await engine.fresh()
    const server = await startTestServer({ url: database.url, hash: present })
    const { id, token } = await server.newKey()
    await server.store.keys.rehash(id, { before: [present(token)], hash: old(token), hashedBy: old.id })
    server.answerWith(() => completion('x'))
    return {
      server,
      token,
      call: async () => (await server.post('/v1/chat/completions', chat(), {}, token)).status,
      stop: async () => {
        await server.stop()
        await database.stop()
      },
    }
  }

  test(`calls after the first one find the key where it was noted, ${engine.name}`, async () => {
    const { server, call, stop } = await scene()
    const { keys } = server.gateway.store
    const { rehash } = keys
    const noted: Promise<void>[] = []
    Object.assign(keys, {
      rehash: (...it: Parameters<typeof rehash>) => {
        noted.push(rehash(...it))
        return noted.at(-1)
      },
    })
    expect(await call()).toBe(200)
    await Promise.all(noted)
    for (let calls = 0; calls < 5; calls++) expect(await call()).toBe(200)
    expect(noted.length).toBe(1)
    await stop()
  })

  test(`another process that notes it between two looks leaves no caller unknown, ${engine.name}`, async () => {
    const { server, token, call, stop } = await scene()
    const { keys } = server.store
    const { keyByHash, callerByHash, rehash } = keys
    const [hash, hashBefore] = [present(token), old(token)]
    Object.assign(keys, {
      callerByHash: async (...all: string[]) => {
        const found = await callerByHash(...all)
        const key = all[0] === hash ? await keyByHash(hashBefore) : undefined
        if (key !== undefined) await rehash(key.id, { before: [hashBefore], hash, hashedBy: present.id })
        return found
      },
    })
    expect([await call(), await call()]).toEqual([200, 200])
    await stop()
  })
}
