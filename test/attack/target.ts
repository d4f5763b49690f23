/** The target: the program itself with its own vendor, and measurements of its process. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { startProgram } from '../program.ts'
import { silentProxy } from '../store/silent-proxy.ts'

const MIB = 1_048_576
const TICKS_A_SECOND = 100

export type Target = {
  readonly name: string
  readonly home: string
  /** Sends a request with the key; a body is sent as JSON. */
  ask(path: string, body?: unknown): Promise<Response>
  /** A connection that sends this and nothing more; it is closed when the check ends. */
  hang(text: string): Promise<Socket>
  /** Resolves when the vendor gets the next request for this model. */
  asked(model: string): Promise<void>
  /** Writes this and reads until the connection ends. */
  raw(text: string): Promise<string>
  readonly auth: string
  /** The operator's key. */
  readonly token: string
  readonly address: string
  /** The address of the ledger, behind the network that can fall silent. */
  readonly databaseUrl: string
  /**
   * Makes the network between the server and a PostgreSQL fall silent, and speak again; does nothing where there is
   * none.
   */
  silence(on: boolean): void
  /** Processor time so far, in milliseconds. */
  cpuMs(): number
  memoryMb(): number
  /** Closes what the check left open. */
  letGo(): void
  stop(): Promise<void>
}

const piece = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`

/**
 * A vendor whose answers never begin, never end, break off, or grow a thousandfold when they are decompressed. `asked`
 * resolves when the next request for the model has come.
 */
const hostileVendor = () => {
  const bomb = gzipSync(new Uint8Array(300 * MIB))
  const waiting = new Map<string, () => void>()
  const streamed = (body: ReadableStream) =>
    new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const answers: Readonly<Record<string, () => Response>> = {
    bomb: () =>
      new Response(bomb, { headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' } }),
    endless: () =>
      new Response(
        new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(MIB).fill(32)) }),
        { headers: { 'content-type': 'application/json' } },
      ),
    mute: () => streamed(new ReadableStream({ pull: () => new Promise(() => undefined) })),
    broken: () =>
      streamed(
        new ReadableStream({
          pull: (controller) => {
            controller.enqueue(new TextEncoder().encode(piece('some words ')))
            controller.close()
          },
        }),
      ),
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { model } = (await request.json()) as { model: string }
      waiting.get(model)?.()
      return answers[model]?.() ?? new Response('no such model', { status: 404 })
    },
  })
  const asked = (model: string) => new Promise<void>((resolve) => waiting.set(model, resolve))
  return { server, asked, models: Object.keys(answers) }
}

const model =
  '{ input_usd_per_1m: "1", output_usd_per_1m: "1", context_tokens: 100000, max_output_tokens: 1000 }'

/** The secret that seals its keys and receipts, and the one that Stripe signs with. */
export const SECRET = 'the secret of a server under attack'
export const WEBHOOK_SECRET = 'whsec_of_a_server_under_attack'
export const ISSUER = 'https://attacked.test'
/** How long the server waits for a body, and keeps an idle connection. */
export const DEADLINE_SECONDS = 5
/** Bytes of answers that one key may have kept. */
export const KEPT_BYTES = 1_000_000

/** Starts the program on an engine; `databaseUrl` gets the folder of a database file. */
export const startTarget = async (name: string, databaseUrl: (home: string) => string): Promise<Target> => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-attack-'))
  const { server: vendor, asked, models } = hostileVendor()
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:\n  hostile:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n${models.map((name) => `      ${name}: ${model}\n`).join('')}`,
  )
  const url = databaseUrl(home)
  const network = url.startsWith('postgres') ? await silentProxy(new URL(url)) : undefined
  const { child, address, token } = await startProgram(home, {
    DATABASE_URL: network?.url ?? url,
    LOG: 'off',
    TURNPIKE_SECRET: SECRET,
    RECEIPT_ISSUER: ISSUER,
    STRIPE_SECRET_KEY: 'sk_test_attacked',
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_BASE_URL: `http://127.0.0.1:${vendor.port}`,
    BODY_SECONDS: String(DEADLINE_SECONDS),
    CONNECTION_SECONDS: String(DEADLINE_SECONDS),
    KEPT_BYTES_MAX: String(KEPT_BYTES),
    PLAN_RPM: '100000',
    BUFFER_BYTES_MAX: '40000000',
  })
  const at = new URL(address)
  const auth = `Authorization: Bearer ${token}\r\n`
  const open: Socket[] = []
  const hang = (text: string): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(Number(at.port), at.hostname)
      socket.on('error', () => resolve(socket))
      open.push(socket)
      socket.write(text, () => resolve(socket))
    })
  return {
    name,
    home,
    auth,
    token,
    address,
    databaseUrl: url,
    silence: (on) => network?.silence(on),
    hang,
    asked,
    ask: (path, body) =>
      fetch(address + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    raw: async (text) => {
      const socket = await hang(text)
      let got = ''
      socket.on('data', (piece) => {
        got += piece
      })
      if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
      return got
    },
    cpuMs: () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_A_SECOND
    },
    memoryMb: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024,
    letGo: () => {
      for (const socket of open.splice(0)) socket.destroy()
    },
    stop: async () => {
      child.kill('SIGKILL')
      await child.exited
      await vendor.stop(true)
      network?.stop()
      rmSync(home, { recursive: true })
    },
  }
}
