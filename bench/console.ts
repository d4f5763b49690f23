/**
 * `bun bench/console.ts [--calls N] [--failures N] [--keys N] [--days N] [--url address] [--only text] [--write]`: the console on
 * a large ledger. Makes 5 million calls of 10,000 keys in a month (or so many days), and a million that were refused or failed, in a
 * file of SQLite, or with `--postgres` in a database on the PostgreSQL of the tests (once; `--url` names a ledger of either engine
 * that stays), and tells how long each report, or each with that text in its address, takes and when the overview can be used.
 * `--write` puts the table into docs/performance.md. Ends with 1 where a report takes more than 200 ms or the overview more than a
 * second.
 */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../src/store/open-store.ts'
import { openBrowser } from '../test/browser/open-browser.ts'
import { listenConsole } from '../test/browser/rig.ts'
import { postgresForTests } from '../test/postgres.ts'
import { fillFailures, fillLedger, fillOn, ORG, WALLET } from './large-ledger.ts'
import { postgresCpu } from './postgres-cpu.ts'
import { measuredOn, writeBetween } from './report.ts'

const REPORT_MS = 200
const OVERVIEW_MS = 1_000
const TIMES = 7

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '5000000' },
    keys: { type: 'string', default: '10000' },
    days: { type: 'string', default: '30' },
    url: { type: 'string' },
    postgres: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    failures: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
    'no-browser': { type: 'boolean', default: false },
  },
})
/** Where the ledger is, and how it goes again; one that was named stays. */
const placed = async (): Promise<{ readonly url: string; readonly stop: () => unknown }> => {
  if (values.url !== undefined) return { url: values.url, stop: () => undefined }
  if (values.postgres) return postgresForTests()
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-large-'))
  return { url: `sqlite:${join(folder, 'ledger.db')}`, stop: () => rmSync(folder, { recursive: true }) }
}
const ledger = await placed()
const onPostgres = !ledger.url.startsWith('sqlite:')

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}
const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.trunc(values.length / 2)] ?? 0
const since = (start: number): string => `${((performance.now() - start) / 1_000).toFixed(1)} s`

/** Both ends are in the middle of a month. */
const YEAR_AGO = new Date(Date.now() - 365 * 86_400_000).toISOString().slice(0, 10)

const size = { calls: Number(values.calls), keyCount: Number(values.keys), days: Number(values.days) }

/** Makes the calls and failures, unless the ledger has them. */
const fillOnce = async (): Promise<void> => {
  const { url } = ledger
  const store = await openStore({ url })
  const isFilled = (await store.wallets.wallet(WALLET)) !== undefined
  await store.close()
  if (isFilled) return
  const start = performance.now()
  await fillLedger(url, { ...size, until: Date.now() })
  await fillFailures(url, { count: Number(values.failures), days: size.days, until: Date.now() })
  say(`${values.calls} calls and ${values.failures} failures of ${values.keys} keys made in ${since(start)}`)
}
await fillOnce()

/**
 * The calls that no sum includes on average: sums end five minutes ago, at a whole step of five, and are made every
 * five.
 */
const UNSUMMED_MINUTES = 10

const it = await listenConsole({ url: ledger.url, unchecked: true })
const databaseCpu = onPostgres ? await postgresCpu(ledger.url) : () => 0
const table: string[] = []
const tell = (line: string): void => {
  table.push(line)
  say(line)
}
let bad = 0
try {
  const [start, before] = [performance.now(), process.cpuUsage()]
  await it.store.reports.rollUp()
  const spent = process.cpuUsage(before)
  say(
    `sums brought up to date in ${since(start)}, ${((spent.user + spent.system) / 1e6).toFixed(1)} s of processor`,
  )
  // Once more, as every few minutes.
  const again = performance.now()
  await it.store.reports.rollUp()
  say(`and again, with nothing new, in ${since(again)}`)
  await fillOn(ledger.url, { ...size, until: Date.now(), minutes: UNSUMMED_MINUTES })
  const owner = await it.visit(`bench${Date.now()}@example.com`, 'owner', ORG, true)
  const json = async (path: string) =>
    (await owner.ask('GET', path)).json() as Promise<Record<string, never[]>>
  const older = encodeURIComponent(String((await json('/wallet/movements?limit=20')).next ?? ''))
  const lastCall = ((await json('/calls?limit=50')).data?.at(-1) as { id?: string } | undefined)?.id ?? ''
  const reports = [
    '/overview',
    '/keys?which=own&limit=100',
    '/keys?which=own&limit=100&search=777',
    '/keys?which=tenants&limit=100',
    '/keys/key_000000',
    '/calls?limit=50',
    `/calls?limit=50&before=${lastCall}`,
    '/calls?limit=50&status=not_ok',
    '/calls?limit=50&code=402',
    '/calls?limit=50&code=rate_limit_exceeded&key=key_000003',
    '/calls?limit=50&key=key_000000',
    '/calls?limit=50&key=key_009998',
    '/latency',
    '/latency?by=key',
    '/latency?key=key_000000',
    '/operator/latency?by=vendor',
    '/usage?group_by=day,model',
    '/usage?group_by=hour,model',
    '/usage?group_by=model',
    '/usage?group_by=vendor',
    '/usage?group_by=key&limit=250',
    '/usage?group_by=key',
    '/usage?group_by=key&tenants=true',
    '/usage?group_by=day,model&key=key_000000',
    '/usage?group_by=day,key&top=5',
    '/usage?group_by=month,key&top=5',
    '/usage?group_by=month,key',
    `/usage?group_by=key&from=${YEAR_AGO}`,
    `/usage?group_by=month,key&top=5&from=${YEAR_AGO}`,
    `/usage?group_by=month,model&from=${YEAR_AGO}`,
    '/statement',
    '/statement/total',
    '/wallet',
    '/wallet/movements',
    `/wallet/movements?before=${older}`,
    '/events',
    '/operator/accounts',
    '/operator/accounts?search=bench',
    '/operator/vendors',
    '/operator/system',
    '/operator/setup',
  ]
  // It also prints processor time, which stays the same on a busy machine.
  tell('| report | first ms | median ms | least ms | processor ms |')
  tell('| --- | ---: | ---: | ---: | ---: |')
  for (const path of reports.filter((one) => one.includes(values.only))) {
    const took: number[] = []
    const used: number[] = []
    for (let n = 0; n < TIMES; n++) {
      const [from, before, database] = [performance.now(), process.cpuUsage(), databaseCpu()]
      const response = await owner.ask('GET', path)
      await response.arrayBuffer()
      took.push(performance.now() - from)
      const { user, system } = process.cpuUsage(before)
      used.push((user + system) / 1_000 + (databaseCpu() - database) * 1_000)
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
    }
    const [median, processor] = [medianOf(took), medianOf(used)]
    if (median > REPORT_MS) bad += 1
    const figures = [took[0], median, Math.min(...took), processor].map((ms) => ms?.toFixed(0))
    tell(`| \`${path.slice(0, 60)}\`${median > REPORT_MS ? ' !' : ''} | ${figures.join(' | ')} |`)
  }
  if (!values['no-browser']) {
    const browser = await openBrowser()
    const { page } = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await it.enter(page, owner.email, 'owner', true)
    await page.evaluate(
      `fetch('/console/api/session/organisation', { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ org_id: '${ORG}' }) })`,
    )
    const took: number[] = []
    for (let n = 0; n < 3; n++) {
      const from = performance.now()
      await page.goto(`${it.address}/console`)
      await page.getByText('Busiest keys').waitFor()
      took.push(performance.now() - from)
    }
    await browser.close()
    if (medianOf(took) > OVERVIEW_MS) bad += 1
    tell(`\nThe overview could be used in the browser after ${took.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  }
} finally {
  await it.stop()
  await ledger.stop()
  if (values.write)
    writeBetween(onPostgres ? 'console on PostgreSQL' : 'console on SQLite', [
      `${measuredOn()}, load ${loadavg()[0]?.toFixed(0)}: ${values.calls} calls, ${values.failures} failures, ${values.keys} keys.`,
      '',
      ...table,
    ])
}
process.exit(bad === 0 ? 0 : 1)
