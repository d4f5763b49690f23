/**
 * One round of the fuzzer: a fresh server, some hundred steps from a seed, and the laws for each answer and for the
 * books.
 */
import { UNIT } from '../chaos/facilitator.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'
import { inTime } from './answer.ts'
import { earned, wrongCharge } from './books.ts'
import { type Scene, SILENCE_MS, startScene } from './scene.ts'
import { stepFor } from './steps.ts'

const STEPS = 120
/** After this many steps comes a new key: its own requests may have limited or revoked the one before. */
const STEPS_A_KEY = 20
/** Processor time of a step, and of each request in it: far above what any takes, far below what an attack needs. */
const CPU_MS = 1_000
const CPU_MS_A_MEGABYTE = 2_000

export type Round = {
  readonly engine: string
  readonly sent: number
  /** Answers by their status. */
  readonly statuses: ReadonlyMap<number, number>
  /** Sound answers of vendors by the vendor. */
  readonly sound: ReadonlyMap<string, number>
  readonly wrong: readonly string[]
}

type Counts = {
  sent: number
  readonly statuses: Map<number, number>
  readonly sound: Map<string, number>
  readonly wrong: string[]
}

const count = <T>(counts: Map<T, number>, name: T): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const cpuMs = (since?: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

const quiet = async ({ server }: Scene): Promise<void> => {
  while (server.openCalls() > 0) await Bun.sleep(1)
}

/** Plays one step; notes it and what was wrong with it. */
const play = async (scene: Scene, counts: Counts, token: string, seed: number, at: number): Promise<void> => {
  const { server, vendors, choose } = scene
  vendors.served.length = 0
  vendors.next(seed * STEPS + at, !choose.rarely(3))
  const { name, step } = stepFor(scene)
  const [before, bytesBefore, cpu, started] = [
    await earned(server),
    vendors.bytes(),
    process.cpuUsage(),
    performance.now(),
  ]
  const { answers, wrong } = await step(scene, token, seed * STEPS + at)
  const quick = performance.now() - started < SILENCE_MS
  const took = cpuMs(cpu)
  await inTime(quiet(scene), 'the end of all calls')
  const served = [...vendors.served]
  const ill = served.some(({ cost }) => cost === undefined)
  const charged = (await earned(server)) - before
  const bytes = answers.reduce(
    (sum, { sent }) => sum + (sent.body?.length ?? 0),
    vendors.bytes() - bytesBefore,
  )
  const budget = CPU_MS + (bytes / 1_000_000) * CPU_MS_A_MEGABYTE
  const found = [
    ...wrong,
    ...answers.flatMap(({ wrong, strange }) =>
      wrong === undefined || (strange === true && ill) ? [] : [`the answer ${wrong}`],
    ),
    wrongCharge({ answers, served, charged, quick }),
    took > budget
      ? `it took ${took.toFixed(0)} ms of processor time, more than ${budget.toFixed(0)}`
      : undefined,
  ].filter((one) => one !== undefined)
  for (const { status } of answers) count(counts.statuses, status)
  for (const { vendor, how } of served) if (how === 'sound') count(counts.sound, vendor)
  counts.sent += Math.max(answers.length, 1)
  if (found.length === 0) return
  const asked = answers.map(({ sent, status }) => `${JSON.stringify(sent).slice(0, 1_500)} -> ${status}`)
  const vendor = served.map((one) => `${one.vendor} ${one.how}`).join(', ')
  counts.wrong.push(
    `step ${at}, ${name}: ${found.join('; ')}\n  asked: ${asked.join('\n  ')}\n  vendors: ${vendor}`,
  )
}

/** The laws when all has ended. */
const wrongAtTheEnd = async ({ server, facilitator, calm }: Scene): Promise<string[]> => {
  const wrong: string[] = []
  const held = await server.heldAfterAll()
  if (held !== 0n) wrong.push(`${held} nano-dollars are held when all has ended`)
  const credit = (await server.store.credit.creditLine(server.wallet))?.held
  if (credit !== 0n) wrong.push(`${credit} nano-dollars of the credit line are held when all has ended`)
  const settled = [...facilitator.settled.values()].reduce((sum, { units }) => sum + units * UNIT, 0n)
  const taken = async () => -(await server.store.ledger.balance('x402'))
  // The next rounds over open payments settle one that a busy machine left unconfirmed.
  const wait = calm ? until(async () => (await taken()) === settled) : taken().then((came) => came <= settled)
  if ((await wait.catch(() => false)) === false)
    wrong.push(`${settled} were paid on the chain and ${await taken()} came in`)
  for (const law of await brokenLaws(server.store)) wrong.push(`the books: ${JSON.stringify(law)}`)
  return wrong
}

/** Runs a round; returns how many requests it sent, and what was wrong. */
export const fuzzRound = async (seed: number): Promise<Round> => {
  const scene = await startScene(seed)
  const { server, choose } = scene
  const counts: Counts = { sent: 0, statuses: new Map(), sound: new Map(), wrong: [] }
  const noRules = {
    per_call_max_usd: null,
    daily_limit_usd: null,
    allowed_models: null,
    blocked_models: null,
    auto_top_up: null,
  }
  let token = ''
  for (let at = 0; at < STEPS; at++) {
    if (at % STEPS_A_KEY === 0) {
      token = (await server.newKey({}, { canManage: choose.rarely(2) })).token
      await (await server.send('PUT', '/api/wallet/rules', noRules, scene.owner)).text()
    }
    // Nothing here waits for a network: without this the timers of the book would have no turn.
    await Bun.sleep(0)
    await play(scene, counts, token, seed, at)
  }
  counts.wrong.push(...(await wrongAtTheEnd(scene)))
  await scene.stop()
  return { engine: scene.engine, ...counts }
}
