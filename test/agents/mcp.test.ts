/**
 * A real agent from npm finishes a task with two of our tools: its model and its tools are one server, one key, one
 * bill.
 */
import { expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isObject, type Json, type JsonObject } from '../../src/core/json-body.ts'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { local } from '../../src/vendors/local/local.ts'
import { startAssetServer } from '../server/asset-rig.ts'
import { testModel } from '../server/harness.ts'
import { install, NotInstalled } from './install.ts'

const TOOLS = ['mcp__turnpike__local_sketch-1', 'mcp__turnpike__local_qr-1'] as const

const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

/** A message of the vendor as a stream: a text, or the call of a tool. */
const said = (block: { text: string } | { name: string; input: object }, at: number): Response => {
  const isTool = 'name' in block
  const start = isTool
    ? { type: 'tool_use', id: `toolu_${at}`, name: block.name, input: {} }
    : { type: 'text', text: '' }
  const delta = isTool
    ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
    : { type: 'text_delta', text: block.text }
  const usage = { input_tokens: 10, output_tokens: 5 }
  const message = {
    id: `msg_${at}`,
    type: 'message',
    role: 'assistant',
    model: 'small',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  }
  const events = [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: start }),
    event('content_block_delta', { index: 0, delta }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: isTool ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    event('message_stop', {}),
  ]
  return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** The answers of tools so far, as texts. */
const resultsIn = (body: JsonObject): readonly string[] =>
  listOf(body.messages)
    .flatMap(({ content }) => listOf(content))
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => JSON.stringify(content))

test('claude-code draws and encodes with two tools of the gateway', async () => {
  const installed = await install('claude-code').catch((error: unknown) => {
    if (!(error instanceof NotInstalled)) throw error
    process.stderr.write(`claude-code is left out: ${error.message}\n`)
  })
  if (installed === undefined) return
  const records = mediaHere.models.filter(({ shape }) => shape.flow === 'once')
  const server = await startAssetServer({
    server: {
      models: [testModel('small'), ...records.map((record) => modelOf('local', record))],
      vendor: { speaks: 'messages' },
      more: [
        { vendor: { ...local, media: mediaHere }, baseUrl: local.baseUrl, secrets: [], fetch: localFetch },
      ],
    },
  })
  const offered = new Set<string>()
  let results: readonly string[] = []
  server.answerWith(({ body }) => {
    for (const { name } of listOf(body.tools)) offered.add(String(name))
    const has = TOOLS.every((name) => listOf(body.tools).some((tool) => tool.name === name))
    if (!has) return said({ text: 'A title' }, server.asked.length)
    results = resultsIn(body)
    if (results.length === 0)
      return said({ name: TOOLS[0], input: { prompt: 'a hill', size: '64x64' } }, server.asked.length)
    if (results.length === 1)
      return said({ name: TOOLS[1], input: { text: 'https://example.com/hill' } }, server.asked.length)
    return said({ text: 'Both pictures are made.' }, server.asked.length)
  })
  const listening = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request) => server.fetch(request),
  })
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-mcp-agent-'))
  const { token } = await server.newKey()
  const address = `http://127.0.0.1:${listening.port}`
  const config = {
    mcpServers: {
      turnpike: { type: 'http', url: `${address}/mcp`, headers: { Authorization: `Bearer ${token}` } },
    },
  }
  await writeFile(join(folder, 'mcp.json'), JSON.stringify(config))
  const before = await server.balance()
  const agent = Bun.spawn(
    [
      'sh',
      '-c',
      `claude -p "Draw a hill, and make a QR code of its address." --mcp-config mcp.json --strict-mcp-config --allowedTools "${TOOLS.join(',')}"`,
    ],
    {
      cwd: folder,
      env: {
        PATH: [...installed.bins, process.env.PATH ?? ''].join(':'),
        HOME: folder,
        ANTHROPIC_BASE_URL: address,
        ANTHROPIC_API_KEY: token,
        ANTHROPIC_MODEL: 'mock/small',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'mock/small',
        CLAUDE_CODE_MAX_OUTPUT_TOKENS: '4000',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // Tools are listed at once, not searched for.
        ENABLE_TOOL_SEARCH: 'false',
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  try {
    const [out, errors] = await Promise.all([
      new Response(agent.stdout).text(),
      new Response(agent.stderr).text(),
    ])
    const code = await agent.exited
    expect([code, out.trim(), code === 0 ? '' : errors]).toEqual([0, 'Both pictures are made.', ''])
    expect([...offered]).toEqual(expect.arrayContaining([...TOOLS]))
    expect(results).toHaveLength(2)
    for (const result of results) expect(result).toContain('/v1/assets/')
    const turns = server.asked.filter(({ url }) => url.endsWith('/messages')).length
    // Two pictures, and each turn of the model: ten tokens in, five out.
    expect(before - (await server.balance())).toBe(20_000n + BigInt(turns) * 60_000n)
  } finally {
    agent.kill()
    await listening.stop(true)
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
