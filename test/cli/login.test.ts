/** `turnpike login`: a person approves, later runs ask nobody, and what is stored is for its owner alone. */
import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { startConsole } from '../console/rig.ts'
import { beginProgram, runProgram } from '../program.ts'
import { chat } from '../server/harness.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

test('a person signs a machine in once, and out', async () => {
  const console = await startConsole()
  let away = false
  const listening = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => (away ? new Response('{}', { status: 503 }) : console.fetch(request)),
  })
  const address = listening.url.origin
  const home = await tempFolder('turnpike-login-')
  const person = await console.visit('dev@example.com', 'developer')
  const status = async (token: string) =>
    (await console.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token.trim())).status

  const alone = await runProgram(home, {}, 'login', address)
  expect(alone).toMatchObject({ code: 1, out: '' })
  expect(alone.errors).toContain(`run 'turnpike login ${address}' in a terminal once`)

  const asking = beginProgram(home, {}, 'login', address, '--device')
  let told = ''
  for await (const bytes of asking.stderr as ReadableStream<Uint8Array>) {
    told += new TextDecoder().decode(bytes)
    const code = /approve the code ([A-Z]{4}-[A-Z]{4})\n/.exec(told)?.[1]
    if (code === undefined) continue
    expect((await person.ask('POST', `/logins/asked/${code}/approve`, {})).status).toBe(201)
    break
  }
  const first = await new Response(asking.stdout as ReadableStream).text()
  expect(await asking.exited).toBe(0)
  expect(await status(first)).toBe(200)
  expect(statSync(join(home, '.config/turnpike/logins.json')).mode & 0o777).toBe(0o600)

  const again = await runProgram(home, {}, 'login', address)
  expect(again).toMatchObject({ code: 0, out: first, errors: '' })

  // Found: a gateway that could not end the sign-in was taken at its word, and the token that could was thrown away.
  away = true
  const refused = await runProgram(home, {}, 'login', address, '--out')
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.errors).toContain(`${address} signed nobody out`)
  away = false
  const out = await runProgram(home, {}, 'login', address, '--out')
  expect(out).toMatchObject({ code: 0, out: '', errors: `signed out at ${address}\n` })
  expect(await status(first)).toBe(401)
  expect((await runProgram(home, {}, 'login', address)).code).toBe(1)
  expect((await runProgram(home, {}, 'login', 'gateway')).errors).toContain('must be one such as https://')
  await listening.stop(true)
  await console.stop()
})

test('a network that is away for a moment does not end a sign-in', async () => {
  const console = await startConsole()
  const serve = (port: number) => Bun.serve({ port, hostname: '127.0.0.1', fetch: console.fetch })
  let listening = serve(0)
  const port = Number(listening.url.port)
  const home = await tempFolder('turnpike-login-')
  const person = await console.visit('dev@example.com', 'developer')
  const asking = beginProgram(home, {}, 'login', listening.url.origin, '--device')
  let code: string | undefined
  let told = ''
  for await (const bytes of asking.stderr as ReadableStream<Uint8Array>) {
    told += new TextDecoder().decode(bytes)
    code = /approve the code ([A-Z]{4}-[A-Z]{4})\n/.exec(told)?.[1]
    if (code !== undefined) break
  }
  await listening.stop(true)
  let broken = 0
  const away = createServer((socket) => {
    broken++
    socket.destroy()
  })
  await new Promise<void>((resolve) => away.listen(port, '127.0.0.1', resolve))
  await until(() => broken > 0)
  await new Promise((resolve) => away.close(resolve))
  listening = serve(port)
  expect((await person.ask('POST', `/logins/asked/${code}/approve`, {})).status).toBe(201)
  const token = await new Response(asking.stdout as ReadableStream).text()
  expect([await asking.exited, token.length > 20]).toEqual([0, true])
  await listening.stop(true)
  await console.stop()
})
