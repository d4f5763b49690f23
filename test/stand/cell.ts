/** A cell of the stand: a pair of databases, two gateways of the real program, each on a wire of its own, and its money. */
import { join } from 'node:path'
import { SQL } from 'bun'
import { command, TOTAL_SECONDS, untilUp } from '../chaos/gateways.ts'
import { type FaultProxy, startProxy } from '../chaos/proxy.ts'
import { freePort } from '../free-port.ts'
import { ownProgram } from '../program.ts'
import { until } from '../until.ts'
import { type Pair, startPair, untilWhole } from './pair.ts'
import type { Program, Programs } from './programs.ts'

type Gateway = { readonly program: Program; readonly address: string; readonly wire: FaultProxy }

/** An organisation and a key of it, with more money than a run can use. */
export type Payer = { readonly org: string; readonly wallet: string; readonly token: string }

export type Cell = {
  readonly name: string
  readonly pair: Pair
  readonly gateways: readonly Gateway[]
  /** The ledger by HAProxy, as commands reach it. */
  readonly url: string
  readonly environment: Readonly<Record<string, string>>
  /** Whose calls are each sent once, and whose are repeated until they are answered. */
  readonly once: Payer
  readonly repeating: Payer
  stop(): void
}

export type House = {
  readonly programs: Programs
  readonly etcd: number
  /** Files that all gateways read: what is sold, and where the cells are. */
  readonly config: string
  readonly directory: string
}

const USD = '100000'
const addressOf = (port: number): string => `http://127.0.0.1:${port}`

const makePayer = async (environment: Record<string, string>, name: string): Promise<Payer> => {
  const run = (...args: string[]) => command(ownProgram, environment, ...args)
  const { id, organisation } = await run('wallet', 'create', '--name', name)
  await run('wallet', 'fund', '--wallet', id, '--usd', USD)
  const { key } = await run('key', 'create', '--wallet', id, '--label', name)
  return { org: organisation, wallet: id, token: key }
}

/** Starts one whose gateways will listen on these ports; it takes calls when this resolves. */
export const startCell = async (house: House, name: string, ports: readonly number[]): Promise<Cell> => {
  const { programs, etcd, config, directory } = house
  const pair = await startPair(programs, name, etcd)
  await untilWhole(pair)
  const urlAt = (port: number, database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`
  const made = new SQL(urlAt(pair.port, 'postgres'), { max: 1 })
  await until(() =>
    made.unsafe('create database turnpike').then(
      () => true,
      () => false,
    ),
  )
  await made.close()
  const url = urlAt(pair.port, 'turnpike')
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: programs.folder,
    DATABASE_URL: url,
    SYNC: 'require',
    CELL: name,
    CELLS: directory,
    TURNPIKE_CONFIG: config,
    TURNPIKE_SECRET: 'the stand has one secret for all of its cells',
    TRUSTED_PROXIES: '127.0.0.1',
    DISCOVER: 'off',
    PLAN_RPM: '1000000',
    TOTAL_SECONDS: String(TOTAL_SECONDS),
    LOG: 'warn',
    // A busy machine is no overload of the server.
    OVERLOAD_MS: '0',
  }
  const gateways: Gateway[] = []
  for (const [at, port] of ports.entries()) {
    const wire = await startProxy(pair.port)
    const own = join(programs.folder, `${name}-gateway-${at}`)
    const env = {
      ...environment,
      PORT: String(port),
      DATABASE_URL: urlAt(wire.port, 'turnpike'),
      JOURNAL: join(own, 'journal'),
      ASSETS: join(own, 'assets'),
    }
    const program = programs.start({
      name: `gateway-${name}-${at}`,
      args: [ownProgram, 'serve'],
      env,
      again: true,
    })
    gateways.push({ program, address: addressOf(port), wire })
    // The first one makes the ledger.
    await untilUp(addressOf(port))
  }
  const [once, repeating] = [await makePayer(environment, 'once'), await makePayer(environment, 'repeating')]
  const stop = () => {
    for (const { wire } of gateways) wire.stop()
  }
  return { name, pair, gateways, url, environment, once, repeating, stop }
}

/** The router of all cells. */
export const startRouter = async (house: House): Promise<{ program: Program; address: string }> => {
  const port = await freePort()
  const env = { CELLS: house.directory, PORT: String(port), LOG: 'warn', DISCOVER: 'off' }
  const program = house.programs.start({ name: 'router', args: [ownProgram, 'route'], env, again: true })
  const address = addressOf(port)
  await until(() =>
    fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return { program, address }
}
