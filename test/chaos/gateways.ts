/** The processes under test: real ones, killed with -9, paused or asked to end, and started again at once. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'

export type Gateways = {
  readonly addresses: readonly string[]
  /** Whether the process has served since it was started. */
  isUp(index: number): boolean
  kill(index: number): void
  /** Stops a process for a while, as a suspended machine does. */
  pause(index: number, ms: number): Promise<void>
  /** Asks a process to end well; another takes its place. */
  end(index: number): void
  readonly counts: Readonly<Record<'kills' | 'pauses' | 'ends', number>>
  readonly killed: readonly { readonly address: string; readonly atMs: number }[]
  readonly memory: () => number[]
  /** Asks all to end well, and waits. */
  stop(): Promise<void>
}

/** Input 1 USD and output 10 USD a million tokens: 1 000 and 10 000 nano-dollars a token. */
export const INPUT_NANO = 1_000n
export const OUTPUT_NANO = 10_000n
/** Longer than a lease lives, so that streams outlive theirs. */
export const TOTAL_SECONDS = 20
/** More than a stream without a bound of its own holds at first. */
export const MAX_OUTPUT = 16_000

const config = (upstreamPort: number, more: string) => `
vendors:
  mock:
    base_url: http://127.0.0.1:${upstreamPort}/v1
    models:
      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: ${MAX_OUTPUT} }
${more}`

export type Environment = Record<string, string>

export type JournalWatch = { readonly left: () => number; readonly seen: () => number }

/** Counts the journals that come and go. */
const watchJournals = (folder: string): JournalWatch => {
  const seen = new Set<string>()
  const look = (): string[] => {
    const others = /^(probe\.|reserve$|first-start\.txt$|log-end\.)/
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => !others.test(name)) : []
    for (const name of names) seen.add(name)
    return names
  }
  setInterval(look, 20).unref()
  return { left: () => look().length, seen: () => seen.size }
}

/** Settings of all processes and commands of one run. */
export const environmentFor = (
  databaseUrl: string,
  upstreamPort: number,
  more: string,
): { environment: Environment; journals: JournalWatch; remove: () => void } => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-chaos-'))
  const path = join(folder, 'turnpike.yaml')
  writeFileSync(path, config(upstreamPort, more))
  const journal = join(folder, 'journal')
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name, value]) => value !== undefined && !name.endsWith('_API_KEY')),
  ) as Environment
  return {
    environment: {
      ...inherited,
      DATABASE_URL: databaseUrl,
      TURNPIKE_CONFIG: path,
      DISCOVER: 'off',
      LOG: 'error',
      PLAN_RPM: '1000000',
      TOTAL_SECONDS: String(TOTAL_SECONDS),
      FIRST_BYTE_SECONDS: '4',
      IDLE_SECONDS: '4',
      DRAIN_SECONDS: '10',
      JOURNAL: journal,
      ASSETS: join(folder, 'assets'),
      OPENAI_API_KEY: 'house-key',
      OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    },
    journals: watchJournals(journal),
    remove: () => rmSync(folder, { recursive: true }),
  }
}

export const startGateways = async (
  program: string,
  environments: readonly Environment[],
  base: number,
): Promise<Gateways> => {
  const running: (Subprocess | undefined)[] = []
  const up = new Set<Subprocess | undefined>()
  let stopping = false
  const counts = { kills: 0, pauses: 0, ends: 0 }
  const start = (index: number) => {
    const child = Bun.spawn([program, 'serve'], {
      env: { ...environments[index], PORT: String(base + index) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    running[index] = child
    void untilUp(addresses[index] ?? '').then(
      () => up.add(child),
      () => undefined,
    )
    void child.exited.then(async () => {
      up.delete(child)
      if (stopping || running[index] !== child) return
      await Bun.sleep(50)
      start(index)
    })
  }
  const killed: { address: string; atMs: number }[] = []
  const addresses = environments.map((_environment, index) => `http://127.0.0.1:${base + index}`)
  for (const index of environments.keys()) start(index)
  const stop = async (): Promise<void> => {
    stopping = true
    for (const child of running) {
      child?.kill('SIGCONT')
      child?.kill('SIGTERM')
    }
    await Promise.race([Promise.all(running.map((child) => child?.exited)), Bun.sleep(20_000)])
    for (const child of running) child?.kill('SIGKILL')
  }
  await Promise.all(addresses.map((address) => untilUp(address))).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    addresses,
    isUp: (index) => up.has(running[index]),
    kill: (index) => {
      counts.kills++
      killed.push({ address: addresses[index] ?? '', atMs: Date.now() })
      running[index]?.kill('SIGKILL')
    },
    pause: async (index, ms) => {
      const child = running[index]
      if (child === undefined) return
      counts.pauses++
      child.kill('SIGSTOP')
      await Bun.sleep(ms)
      child.kill('SIGCONT')
    },
    end: (index) => {
      counts.ends++
      running[index]?.kill('SIGTERM')
    },
    counts,
    killed,
    memory: () => running.map((child) => (child === undefined ? 0 : residentMb(child.pid))),
    stop,
  }
}

/** A gateway that is not up by then does not come up on any machine. */
const UP_MS = 300_000

export const untilUp = async (address: string): Promise<void> => {
  let answerText = 'nothing'
  for (const until = Date.now() + UP_MS; Date.now() < until; await Bun.sleep(100)) {
    try {
      const answer = await fetch(`${address}/api/status`, { signal: AbortSignal.timeout(10_000) })
      answerText = await answer.text()
      if (answer.ok && JSON.parse(answerText).status === 'ok') return
    } catch (fault) {
      answerText = String(fault)
    }
  }
  throw new Error(`${address} did not come up; it told last: ${answerText}`)
}

const residentMb = (pid: number): number => {
  const out = Bun.spawnSync(['ps', '-o', 'rss=', '-p', String(pid)])
    .stdout.toString()
    .trim()
  return Math.round(Number(out) / 1024)
}

/** Runs a command of the operator and reads its JSON. */
export const command = async (program: string, environment: Environment, ...args: string[]): Promise<any> => {
  const child = Bun.spawn([program, ...args, '--json'], {
    env: environment,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0 && output === '') throw new Error(`turnpike ${args.join(' ')}: ${errors}`)
  return JSON.parse(output)
}
