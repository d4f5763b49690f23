/** `SYNC=require`: a ledger without a synchronous standby is refused at the start, and told when it is lost. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { startEmbedded } from '../embedded-postgres.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { startStandby } from '../standby.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const TOKEN = 'metrics-token-of-tests'
let postgres: Awaited<ReturnType<typeof startEmbedded>>
let home: string
beforeAll(async () => {
  postgres = await startEmbedded()
  home = await tempFolder('turnpike-standby-')
})
afterAll(async () => {
  await endPrograms()
  await postgres.stop()
})

/** Whom commits wait for. */
const waitFor = async (names: string) => {
  const sql = new SQL({ url: postgres.url, max: 1 })
  await sql.unsafe(`alter system set synchronous_standby_names = '${names}'`)
  await sql.unsafe('select pg_reload_conf()')
  await sql.close()
}

test('is refused without one, runs with one, and says when it is lost and found', async () => {
  const settings = { DATABASE_URL: postgres.url, SYNC: 'require', METRICS_TOKEN: TOKEN }
  const refused = await runProgram(home, settings, 'serve')
  expect([refused.code, refused.errors]).toEqual([
    1,
    expect.stringContaining('SYNC=require, and the ledger has no synchronous standby: set '),
  ])
  const file = await runProgram(home, { SYNC: 'require' }, 'serve')
  expect([file.code, file.errors]).toEqual([
    2,
    expect.stringContaining('SYNC=require needs PostgreSQL with a synchronous standby: SQLite has none'),
  ])
  let standby = await startStandby(postgres.url)
  await waitFor('standby')
  const { child, address } = await startProgram(home, settings, 'pipe')
  let log = ''
  void (async () => {
    for await (const piece of child.stderr as ReadableStream<Uint8Array>)
      log += new TextDecoder().decode(piece)
  })()
  const told = async () => {
    const { services } = (await (await fetch(`${address}/api/status`)).json()) as {
      services: Record<string, { status: string }>
    }
    const metrics = await (
      await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).text()
    return [services.standby?.status, /^turnpike_standby_ok (\d)/m.exec(metrics)?.[1]]
  }
  expect(await told()).toEqual(['ok', '1'])
  // As Patroni does: it takes the name away, so that commits do not wait for what is gone.
  standby.stop()
  await waitFor('')
  await until(async () => (await told())[0] === 'degraded')
  expect(await told()).toEqual(['degraded', '0'])
  expect(log).toContain('the ledger has lost its synchronous standby')
  standby = await startStandby(postgres.url)
  await waitFor('standby')
  await until(async () => (await told())[0] === 'ok')
  expect(log).toContain('the ledger has a synchronous standby again')
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  standby.stop()
  await waitFor('')
})
