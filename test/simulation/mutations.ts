/**
 * Each mutation breaks one rule of the protocol in a copy of the sources; the simulation must catch every one.
 * The text to replace must occur exactly once, so that a mutation cannot go stale unnoticed.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

type Mutation = { readonly name: string; readonly file: string; readonly from: string; readonly to: string }

const mutations: readonly Mutation[] = [
  {
    name: 'answer before the charge is durable',
    file: 'src/book/open-hold.ts',
    from: 'return new Promise((resolve, reject) => {\n      this.#parts.writer.settle(settle',
    to: 'return new Promise((resolve, reject) => {\n      resolve({ charged: charge, remaining: 0n })\n      this.#parts.writer.settle(settle',
  },
  {
    name: 'a grant ignores what is held of the wallet',
    file: 'src/store/grant.ts',
    from: "const free = nanoOf(account, 'balance') - nanoOf(account, 'held')",
    to: "const free = nanoOf(account, 'balance')",
  },
  {
    name: 'a grant ignores what is held of a cap',
    file: 'src/store/grant.ts',
    from: "const room = lim - nanoOf(row, 'used') - nanoOf(row, 'held')",
    to: "const room = lim - nanoOf(row, 'used')",
  },
  {
    name: 'a grant counts twice in memory',
    file: 'src/book/lease.ts',
    from: 'lease.room += granted.grown',
    to: 'lease.room += granted.grown * 2n',
  },
  {
    name: 'an intent is not fenced',
    file: 'src/store/flush.ts',
    from: "join lease l on l.id = e.value->>'l' and l.state = 'open' and l.instance = $2",
    to: "join lease l on l.id = e.value->>'l' and l.instance = $2",
  },
  {
    name: 'the reaper does not wait for late settlements',
    file: 'src/book/book.ts',
    from: 'longestCallMs: parts.longestCallMs ?? LONGEST_CALL_MS',
    to: 'longestCallMs: 0 * LONGEST_CALL_MS',
  },
  {
    name: 'a charge may exceed the hold',
    file: 'src/book/open-hold.ts',
    from: 'const charge = least(cost, this.#amount)',
    to: 'const charge = least(cost, cost)',
  },
  {
    name: 'a process does not fence itself',
    file: 'src/book/heartbeat.ts',
    from: 'fresh: () => clock.monotonicMs() < freshUntilMs',
    to: 'fresh: () => freshUntilMs > 0',
  },
  {
    name: 'a change is acknowledged at once',
    file: 'src/book/heartbeat.ts',
    from: 'if (unaware.length === 0) return',
    to: 'if (unaware.length >= 0) return',
  },
  {
    name: 'a beat claims to have seen what it did not read',
    file: 'src/store/instance-store.ts',
    from: 'statement(write, instance, seen ?? null, nudge ?? null)',
    to: 'statement(write, instance, 9e15, nudge ?? null)',
  },
  {
    name: 'a lease admits after its deadline',
    file: 'src/book/lease.ts',
    from: '!lease.tight && nowMs < lease.deadlineMs && free(lease) >= amount',
    to: '!lease.tight && nowMs < Number.POSITIVE_INFINITY && free(lease) >= amount',
  },
  {
    name: 'a lease outlives its month',
    file: 'src/store/grant.ts',
    from: 'Math.min(locked.now + grant.ttlMs, nextMonthStart(line.now))',
    to: 'locked.now + grant.ttlMs + 0 * nextMonthStart(line.now)',
  },
  {
    name: 'a settled call stays open',
    file: 'src/store/flush.ts',
    from: 'close: `delete from inflight where call_id in',
    to: 'close: `delete from inflight where 1 = 0 and call_id in',
  },
  {
    name: 'a full minute gives one more',
    file: 'src/book/rates.ts',
    from: 'window.tokens = got.taken +',
    to: 'window.tokens = Math.max(1, got.taken) +',
  },
  {
    name: 'room is returned after the ledger was told',
    file: 'src/book/purse.ts',
    from: 'const back = takeUnused(lease)',
    to: 'const back = free(lease)',
  },
]

const root = resolve(import.meta.dir, '../..')
const option = process.argv.indexOf('--only')
const only = option < 0 ? undefined : process.argv[option + 1]
let failed = 0
let passed = 0

const runMutation = async (mutation: Mutation): Promise<{ caught: boolean; line: string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-mutation-'))
  try {
    for (const part of ['src', 'test/simulation', 'package.json', 'tsconfig.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    const path = join(folder, mutation.file)
    const text = readFileSync(path, 'utf8')
    const pieces = text.split(mutation.from)
    if (pieces.length !== 2)
      return {
        caught: false,
        line: `the text to replace occurs ${pieces.length - 1} times in ${mutation.file}`,
      }
    writeFileSync(path, pieces.join(mutation.to))
    const child = Bun.spawn(
      [process.execPath, 'test/simulation/run.ts', '--seeds', '400', '--until-caught'],
      { cwd: folder, stdout: 'pipe', stderr: 'pipe' },
    )
    const [output] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    const code = await child.exited
    const line =
      output.split('\n').find((each) => each.startsWith('seed ')) ?? output.split('\n').at(-3) ?? ''
    return { caught: code !== 0 && line.startsWith('seed '), line }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const queue = mutations.filter(({ name }) => only === undefined || name.includes(only))
const work = async (): Promise<void> => {
  for (let mutation = queue.shift(); mutation !== undefined; mutation = queue.shift()) {
    const { caught, line } = await runMutation(mutation)
    if (caught) passed++
    else failed++
    console.log(`${caught ? 'caught' : 'MISSED'}  ${mutation.name.padEnd(50)} ${line.slice(0, 110)}`)
  }
}
await Promise.all([work(), work()])
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
