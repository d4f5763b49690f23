/** An installation without the package of built-in products starts, sells what is left, and says what is not. */
import { afterAll, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { copyProduct } from '../copy-product.ts'
import { endPrograms, startProgram } from '../program.ts'

const folder = copyProduct('bare')
rmSync(join(folder, 'packages'), { recursive: true })

afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true, force: true })
})

test('without packages/local-media only chat and embeddings are built in', async () => {
  const { greeting, address, token } = await startProgram(folder, {}, 'inherit', [
    join(folder, 'bin', 'turnpike'),
  ])
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(`${address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json()) as any }
  }
  const { json } = await ask('/v1/models')
  const builtIn = json.data
    .map(({ id }: { id: string }) => id)
    .filter((id: string) => id.startsWith('local/'))
  expect(builtIn.sort()).toEqual(['local/echo-1', 'local/hash-embed-1'])
  expect(greeting).toContain('Not sold, as their packages are not installed: local/*')
  const hello = { model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }
  expect((await ask('/v1/chat/completions', hello)).status).toBe(200)
  const drawn = await ask('/v1/run', { model: 'local/sketch-1', inputs: { prompt: 'sea' } })
  expect(drawn.json.error.code).toBe('model_not_found')
})
