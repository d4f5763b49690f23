/** The start test: what a server must do however it was installed, from its first greeting to its end. */
import { expect } from 'bun:test'
import { fetchAgain } from '../late-ledger.ts'
import { runCommand, type Settings, startProgram } from '../program.ts'

/** A program, its working folder, and its settings. */
export type Installed = {
  readonly program: readonly string[]
  readonly home: string
  readonly settings?: Settings
}

/** Starts it, uses a part of each kind, and ends it. Returns its greeting. */
export const startTest = async ({ program, home, settings = {} }: Installed): Promise<string> => {
  const allSettings = { DATABASE_URL: 'sqlite:./data/ledger.db', ...settings }
  const command = async (...args: string[]) => {
    const { code, out, errors } = await runCommand(program, home, allSettings, ...args)
    expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
    return out
  }
  expect(await command('--version')).toMatch(/^\d+\.\d+\.\d+\n$/)
  const {
    child,
    greeting,
    address,
    token,
    link: signIn,
  } = await startProgram(home, allSettings, 'inherit', program)
  const asked = async (path: string, body?: object) => {
    const answer = await fetchAgain(`${address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream, */*',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    expect([path, answer.status]).toEqual([path, 200])
    return answer
  }
  const hello = { model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }
  expect(await (await asked('/v1/chat/completions', hello)).json()).toMatchObject({
    choices: [{ message: { content: 'You said: Hello' } }],
  })
  expect(await (await asked('/v1/chat/completions', { ...hello, stream: true })).text()).toContain('[DONE]')
  // Work of another process, and its file in the store of assets.
  const drawn = (await (
    await asked('/v1/run', { model: 'local/sketch-1', inputs: { prompt: 'sea', size: '256x256' } })
  ).json()) as { outputs: { url: string }[] }
  const picture = new URL(drawn.outputs[0]?.url ?? '')
  const bytes = await (await asked(`${picture.pathname}${picture.search}`)).bytes()
  expect([...bytes.subarray(1, 4)]).toEqual([...new TextEncoder().encode('PNG')])
  // A report is read on a thread of its own.
  expect(await (await asked('/v1/usage')).json()).toMatchObject({ data: { total: { requests: 3 } } })
  // Pages, documents and an MCP server are part of the program.
  const page = await (await asked('/console')).text()
  const script = /src="(\/console\/files\/[^"]+\.js)"/.exec(page)?.[1] ?? ''
  expect((await (await asked(script)).text()).length).toBeGreaterThan(10_000)
  for (const path of ['/', '/products', '/quickstart', '/reference', '/reference/errors', '/llms.txt'])
    expect((await (await asked(path)).text()).length).toBeGreaterThan(100)
  expect(await (await asked('/openapi.json')).json()).toHaveProperty('openapi')
  const tools = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  expect(await (await asked('/mcp', tools)).text()).toContain('search_products')
  const link = /link#(\S+)/.exec(signIn)?.[1] ?? ''
  expect((await signedIn(address, link)).status).toBe(200)
  // Commands beside the server.
  expect(JSON.parse(await command('key', 'create', '--label', 'beside', '--json'))).toMatchObject({
    label: 'beside',
  })
  await command('audit')
  const { hostname, port } = new URL(address)
  const ready = () => runCommand(program, home, { ...allSettings, HOST: hostname, PORT: port }, 'ready')
  expect(await ready()).toEqual({ code: 0, out: 'ready\n', errors: '' })
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect((await ready()).errors).toStartWith(`turnpike: no server answers at ${address}: `)
  return greeting
}

/** The first operator's way in. */
const signedIn = (address: string, token: string): Promise<Response> =>
  fetchAgain(`${address}/console/api/session/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: address },
    body: JSON.stringify({ token }),
  })
