/** The servers that are compared, each a process of its own that is started and stopped by its id. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Subprocess } from 'bun'
import { postgresForTests } from '../test/postgres.ts'

export type Server = {
  readonly name: string
  readonly url: string
  readonly headers: Record<string, string>
  /** The headers of further callers, where it was started with some. */
  readonly others?: readonly Record<string, string>[]
  /** The headers of each call, where they do not all have the same caller. */
  readonly nextToken?: () => string
  readonly pids: readonly number[]
  /** The path that is called; chat completions when absent. */
  readonly path?: string
  stop(): Promise<void>
}

const root = resolve(import.meta.dir, '..')
const MANY = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' }

const firstLine = async (child: Subprocess<'ignore', 'pipe', 'inherit'>): Promise<string> => {
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  reader.releaseLock()
  return new TextDecoder().decode(value).split('\n')[0] ?? ''
}

const stopped = async (child: Subprocess): Promise<void> => {
  child.kill('SIGTERM')
  await Promise.race([child.exited, Bun.sleep(3_000)])
  child.kill('SIGKILL')
}

const spawn = (command: string[], env: Record<string, string>) =>
  Bun.spawn(command, {
    cwd: root,
    env: { ...(process.env as Record<string, string>), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })

/** A server that is starting answers too, with an error. */
const untilUp = async (url: string): Promise<void> => {
  for (let tries = 0; tries < 100; tries++) {
    const ok = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      (response) => response.ok,
      () => false,
    )
    if (ok) return
    await Bun.sleep(100)
  }
  throw new Error(`${url} did not come up`)
}

export const startUpstream = async (more: Record<string, string> = {}): Promise<Server> => {
  const child = spawn([process.execPath, 'bench/upstream.ts'], { ...MANY, ...more })
  const port = await firstLine(child)
  return {
    name: 'upstream',
    url: `http://127.0.0.1:${port}`,
    headers: {},
    pids: [child.pid],
    stop: () => stopped(child),
  }
}

export const startBare = async (upstream: Server): Promise<Server> => {
  const child = spawn([process.execPath, 'bench/bare-proxy.ts'], { ...MANY, UPSTREAM: upstream.url })
  const port = await firstLine(child)
  return {
    name: 'bare Bun proxy',
    url: `http://127.0.0.1:${port}`,
    headers: {},
    pids: [child.pid],
    stop: () => stopped(child),
  }
}

/** The router of cells; the upstream is the gateway of the only cell. */
export const startRouter = async (upstream: Server): Promise<Server> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-router-'))
  const CELLS = join(folder, 'cells.yaml')
  writeFileSync(CELLS, `first: c1\ncells: { c1: { addresses: ['${upstream.url}'] } }\n`)
  const child = spawn([join(root, 'bin/turnpike'), 'route'], { CELLS, PORT: '0', LOG: 'error' })
  const line = await firstLine(child)
  return {
    name: 'router',
    url: /routes at (\S+)/.exec(line)?.[1] ?? '',
    headers: { authorization: `Bearer sk-c1-${'a'.repeat(43)}` },
    pids: [child.pid],
    stop: async () => {
      await stopped(child)
      rmSync(folder, { recursive: true })
    },
  }
}

export const startNginx = async (upstream: Server, port: number): Promise<Server | undefined> => {
  const binary = Bun.which('nginx') ?? (existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : undefined)
  if (binary === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-nginx-'))
  const path = join(folder, 'nginx.conf')
  writeFileSync(
    path,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 8192; }
http { access_log off; client_max_body_size 64m; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
client_body_buffer_size 1m; keepalive_requests 10000000;
upstream up { server ${upstream.url.slice(7)}; keepalive 256; keepalive_requests 10000000; }
server { listen 127.0.0.1:${port}; location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
  )
  const child = spawn([binary, '-c', path], {})
  await Bun.sleep(400)
  return {
    name: 'nginx',
    url: `http://127.0.0.1:${port}`,
    headers: {},
    pids: [child.pid],
    stop: async () => {
      await stopped(child)
      rmSync(folder, { recursive: true })
    },
  }
}

export const startPortkey = async (upstream: Server, port: number): Promise<Server | undefined> => {
  const script = join(root, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  const node = Bun.which('node')
  if (!existsSync(script) || node === null) return undefined
  const child = spawn([node, script, `--port=${port}`, '--headless'], { NODE_ENV: 'production' })
  void new Response(child.stdout).text()
  const url = `http://127.0.0.1:${port}`
  await untilUp(url)
  return {
    name: 'Portkey',
    url,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream.url}/v1` },
    pids: [child.pid],
    stop: () => stopped(child),
  }
}

const command = async (env: Record<string, string>, ...args: string[]): Promise<any> => {
  const child = spawn([join(root, 'bin/turnpike'), ...args, '--json'], env)
  const text = await new Response(child.stdout).text()
  return JSON.parse(text)
}

type Turnpike = {
  readonly engine: 'sqlite' | 'postgres'
  readonly port: number
  readonly workers?: number
  /** Each answer carries a signed receipt, as is the default; the others are compared without it, by the same work. */
  readonly receipts?: boolean
  /** Further keys. */
  readonly others?: number
  /** The address of an existing ledger, which has the keys: none is made. */
  readonly ledger?: string
  /** The settings in which it differs. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Turnpike with authentication, caps, rate limit, hold, and durable settlement. */
export const startTurnpike = async (upstream: Server, it: Turnpike): Promise<Server> => {
  const { engine, port, workers = 1, receipts = false, others = 0, ledger, settings = {} } = it
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
  const database = engine === 'postgres' && ledger === undefined ? await postgresForTests() : undefined
  const env = {
    DATABASE_URL: ledger ?? database?.url ?? `sqlite:${folder}/ledger.db`,
    PORT: String(port),
    OPENAI_API_KEY: 'bench',
    OPENAI_BASE_URL: `${upstream.url}/v1`,
    DISCOVER: 'off',
    LOG: 'off',
    RECEIPTS: receipts ? 'header' : 'off',
    OPEN_CALLS_MAX: '20000',
    ASSETS: join(folder, 'assets'),
    TURNPIKE_CONFIG: '',
    ...settings,
  }
  const child = spawn([join(root, 'bin/turnpike'), 'serve', '--workers', String(workers)], env)
  void new Response(child.stdout).text()
  const url = `http://127.0.0.1:${port}`
  await untilUp(`${url}/api/status`).catch(async (error: unknown) => {
    await stopped(child)
    throw error
  })
  if (ledger === undefined) await command(env, 'wallet', 'fund', '--usd', '1000000')
  const newKey = async (): Promise<Record<string, string>> => {
    const limits = ['--rpm', '100000000', '--spend-cap', '90000']
    const { key } = await command(env, 'key', 'create', '--label', 'bench', ...limits)
    return { authorization: `Bearer ${key}` }
  }
  const headers = ledger === undefined ? await newKey() : {}
  const more: Record<string, string>[] = []
  for (let made = 0; made < others; made++) more.push(await newKey())
  const children = Bun.spawnSync(['pgrep', '-P', String(child.pid)])
    .stdout.toString()
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
  return {
    name: `Turnpike, ${engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}${workers > 1 ? `, ${workers} workers` : ''}${receipts ? ', receipts' : ''}`,
    url,
    headers,
    others: more,
    pids: workers > 1 ? [child.pid, ...children] : [child.pid],
    stop: async () => {
      await stopped(child)
      rmSync(folder, { recursive: true })
      await database?.stop()
    },
  }
}
