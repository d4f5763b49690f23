/**
 * The real Claude Code signs in by /login at a terminal, works, is stopped by its person's cap and goes on, and stops when
 * the person is removed.
 */
import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startConsole } from '../console/rig.ts'
import { freePort } from '../free-port.ts'
import { postgresForTests } from '../postgres.ts'
import { jsonOf, testModel } from '../server/harness.ts'
import { until } from '../until.ts'
import { install, NotInstalled } from './install.ts'

const MODEL = 'small'
const UP = '\u001b[A'
const ENTER = '\r'

const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

const said = (text: string): Response => {
  const usage = { input_tokens: 1_000, output_tokens: 50 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, content: [] }
  const events = [
    event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 50 },
    }),
    event('message_stop', {}),
  ]
  return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

/** The program at a terminal of its own: what it wrote since the last look, without spaces and colours, and keys for it. */
const atTerminal = (command: readonly string[], cwd: string, env: Record<string, string>) => {
  let written = ''
  const decoder = new TextDecoder()
  const child = Bun.spawn([...command], {
    cwd,
    env,
    terminal: {
      cols: 200,
      rows: 50,
      data: (_terminal: unknown, bytes: Uint8Array) => {
        written += decoder.decode(bytes, { stream: true })
      },
    },
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal is driven by
  const plain = () => written.replaceAll(/\u001b\[[0-9;?>]*[a-zA-Z]|\u001b\][^\u0007]*\u0007|\s/g, '')
  return {
    sees: async (text: string) => {
      await until(() => plain().includes(text.replaceAll(' ', '')))
      written = ''
    },
    type: (keys: string) => child.terminal?.write(keys),
    end: async () => {
      child.kill()
      await child.exited
    },
  }
}

/** The program of that name from npm; undefined, and said, where it cannot be installed. */
const claudeCode = async () => {
  try {
    return await install('claude-code')
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error
    process.stderr.write(`claude-code is left out: ${error.message}\n`)
    return undefined
  }
}

test('claude-code signs in by /login, works, and stops with its cap and with its person', async () => {
  const installed = await claudeCode()
  if (installed === undefined) return
  const console = await startConsole({
    models: [{ ...testModel(MODEL), maxOutputTokens: 64_000, contextTokens: 400_000 }],
    vendor: { speaks: 'messages' },
  })
  console.answerWith(({ body }) =>
    said(
      `heard ${JSON.stringify(body.messages)
        .match(/word-\d/g)
        ?.at(-1)}`,
    ),
  )
  let code = ''
  /** Of its calls so far. */
  const statuses: number[] = []
  let revoked = 0
  const listening = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const answer = await console.fetch(request)
      const { pathname } = new URL(request.url)
      // The code stands in the address that the agent opens in a browser.
      if (pathname === '/oauth/device_authorization')
        code = /"user_code":"([A-Z-]+)"/.exec(await answer.clone().text())?.[1] ?? ''
      if (pathname === '/v1/messages') statuses.push(answer.status)
      if (pathname === '/oauth/revoke') revoked++
      return answer
    },
  })
  const address = `http://127.0.0.1:${listening.port}`
  const [owner, person] = [
    await console.visit('owner@example.com', 'owner'),
    await console.visit('dev@example.com', 'developer'),
  ]
  const home = mkdtempSync(join(tmpdir(), 'turnpike-sign-in-'))
  mkdirSync(join(home, '.claude'))
  const known = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    projects: { [home]: { hasTrustDialogAccepted: true } },
  }
  writeFileSync(join(home, '.claude.json'), JSON.stringify(known))
  const settings = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: address }
  writeFileSync(join(home, '.claude/settings.json'), JSON.stringify(settings))
  const agent = atTerminal(['claude', '--model', `mock/${MODEL}`], home, {
    PATH: `${installed.bins.join(':')}:${process.env.PATH}`,
    HOME: home,
    TERM: 'xterm-256color',
    BROWSER: '/bin/true',
    DISABLE_AUTOUPDATER: '1',
  })
  // Typed text is taken for a paste when its end comes with it.
  const say = async (text: string) => {
    agent.type(text)
    await agent.sees(text)
    agent.type(ENTER)
  }
  await agent.sees('run/login')
  await say('/login')
  await agent.sees('to connect')
  agent.type(ENTER)
  await agent.sees('No,cancel login')
  agent.type(UP)
  await agent.sees('❯Yes')
  agent.type(ENTER)
  await agent.sees('/console/device')
  expect((await person.ask('POST', `/logins/asked/${code}/approve`, {})).status).toBe(201)
  await agent.sees('as dev@example.com')
  agent.type(UP)
  await agent.sees('❯Yes')
  agent.type(ENTER)
  await agent.sees('Press Enter to continue')
  agent.type(ENTER)
  await agent.sees('Login successful')
  const heard = (word: string) => until(() => console.asked.some(({ text }) => text.includes(word)))
  await say('word-1')
  await heard('word-1')
  const { data } = await jsonOf(await owner.ask('GET', '/keys?which=own&search=Agents of dev'))
  const cap = (usd: string | null) => owner.ask('PUT', `/keys/${data[0].id}`, { daily_cap_usd: usd })
  expect((await cap('0.00000001')).status).toBe(200)
  await say('word-2')
  await until(() => statuses.includes(402))
  expect((await cap(null)).status).toBe(200)
  await say('word-3')
  await heard('word-3')
  expect((await owner.ask('DELETE', `/team/${person.personId}`)).status).toBe(200)
  await say('word-4')
  await until(() => statuses.includes(403))
  // It ends its access token and its refresh token.
  await say('/logout')
  await until(() => revoked === 2)
  await agent.end()
  await listening.stop(true)
  await console.stop()
  rmSync(home, { recursive: true, force: true })
})

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

type Ask = (path: string, members: Record<string, string>) => Promise<Response>

/** What a gateway says to each wrong form, and by name what its answers have. */
const conversation = async (ask: Ask): Promise<unknown> => {
  const told = async (members: Record<string, string>) => {
    const answer = await ask('/oauth/token', members)
    return [answer.status, JSON.parse(await answer.text()).error]
  }
  const asked = JSON.parse(
    await (await ask('/oauth/device_authorization', { surface: 'claude_code' })).text(),
  )
  const poll = { grant_type: DEVICE, device_code: asked.device_code }
  return {
    members: Object.keys(asked).sort(),
    code: String(asked.user_code).replaceAll(/[A-Z]/g, 'X'),
    times: [asked.expires_in, asked.interval],
    complete: asked.verification_uri_complete === `${asked.verification_uri}?user_code=${asked.user_code}`,
    first: await told(poll),
    soon: await told(poll),
    unknown: await told({ ...poll, device_code: 'none' }),
    noCode: await told({ grant_type: DEVICE }),
    noRefresh: await told({ grant_type: 'refresh_token' }),
    noGrant: await told({}),
    otherGrant: await told({ grant_type: 'password' }),
  }
}

const formTo =
  (address: string): Ask =>
  (path, members) =>
    fetch(`${address}${path}`, { method: 'POST', body: new URLSearchParams(members) })

const METADATA = '/.well-known/oauth-authorization-server'

/** The endpoints, after the address. */
const metadataAt = async (address: string): Promise<unknown> => {
  const text = await (await fetch(`${address}${METADATA}`)).text()
  const { device_authorization_endpoint, token_endpoint, grant_types_supported, issuer } = JSON.parse(
    text.replaceAll(address, ''),
  )
  return { device_authorization_endpoint, token_endpoint, grant_types_supported, issuer }
}

/** An identity provider that can be found; nobody signs in there. */
const startProvider = () =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const { origin: issuer } = new URL(url)
      return Response.json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      })
    },
  })

test('the reference gateway of claude-code says the same, member by member', async () => {
  const installed = await claudeCode()
  if (installed === undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-reference-'))
  const database = await postgresForTests()
  const provider = startProvider()
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const settings = {
    listen: { host: '127.0.0.1', port, public_url: address },
    oidc: { issuer: provider.url.origin, client_id: 'one', client_secret: 'two' },
    session: { jwt_secret: 'abcdefghijklmnopqrstuvwxyz0123456789abcdef' },
    store: { postgres_url: database.url },
    upstreams: [{ provider: 'anthropic', base_url: address, auth: { api_key: 'sk-none' } }],
  }
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(settings))
  const reference = Bun.spawn(['claude', 'gateway', '--config', join(folder, 'gateway.yaml')], {
    env: {
      PATH: `${installed.bins.join(':')}:${process.env.PATH}`,
      HOME: folder,
      CLAUDE_GATEWAY_ALLOW_LOOPBACK: '1',
    },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const answers = () => fetch(`${address}${METADATA}`).then(({ ok }) => ok)
  await until(() => answers().catch(() => false))
  const console = await startConsole()
  const ours = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => console.fetch(request) })
  expect(await conversation(formTo(ours.url.origin))).toEqual(await conversation(formTo(address)))
  expect(await metadataAt(ours.url.origin)).toEqual(await metadataAt(address))
  reference.kill()
  await reference.exited
  await Promise.all([provider.stop(true), ours.stop(true), console.stop(), database.stop()])
  rmSync(folder, { recursive: true, force: true })
})
