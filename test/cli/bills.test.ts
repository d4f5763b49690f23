/** A month is billed by commands: who bills, the invoices, their files, a credit note and a payment; a killed close leaves no gap. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROFILE, type Reseller, startReseller } from '../console/bill-rig.ts'
import { beginProgram, endPrograms, runProgram } from '../program.ts'
import { engines } from '../store/engines.ts'
import { until } from '../until.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-bills-'))
let it: Reseller
beforeAll(async () => {
  const file = engines.find(({ name }) => name === 'SQLite in a file')
  if (file === undefined) throw new Error('there is no engine with a file')
  it = await startReseller(file, 15)
  it.november()
})
afterAll(async () => {
  await endPrograms()
  await it.stop()
  rmSync(home, { recursive: true })
})

const run = (...args: string[]) => runProgram(home, { DATABASE_URL: it.url }, ...args, '--org', 'org_test')
const json = async (...args: string[]) => {
  const { code, out, errors } = await run(...args, '--json')
  expect([args, code, errors]).toEqual([args, 0, ''])
  return JSON.parse(out)
}

test('commands bill a month as the console does', async () => {
  expect((await run('bill', 'close', '2026-10')).errors).toContain('no billing profile')
  writeFileSync(join(home, 'profile.json'), JSON.stringify(PROFILE))
  expect(await json('bill', 'profile', '--file', 'profile.json')).toMatchObject({ name: PROFILE.name })
  expect(await json('bill', 'profile')).toMatchObject({ prefix: 'GS-' })
  const [tenant] = it.tenants
  writeFileSync(join(home, 'tenant.json'), JSON.stringify({ name: 'Žižek Ltd', address: 'Praha' }))
  await json('bill', 'tenant', tenant?.id ?? '', '--file', 'tenant.json')
  // Killed in the middle, a close leaves invoices that are whole; the next one writes the others.
  const child = beginProgram(home, { DATABASE_URL: it.url }, 'bill', 'close', '2026-10', '--org', 'org_test')
  await until(async () => (await it.store.bills.bills({ orgId: 'org_test', most: 1 })).length > 0)
  child.kill('SIGKILL')
  await child.exited
  await Promise.all([json('bill', 'close', '2026-10'), json('bill', 'close', '2026-10')])
  const closed = await json('bill', 'list', '--month', '2026-10')
  expect(closed.map(({ number }: { number: string }) => number)).toEqual(
    Array.from({ length: 15 }, (_, at) => `GS-${String(15 - at).padStart(4, '0')}`),
  )
  const one = closed.find(({ label }: { label: string }) => label === 'Tenant 1')
  expect(await json('bill', 'show', one.id)).toMatchObject({ buyer: { name: 'Žižek Ltd' } })
  expect((await run('bill', 'pdf', one.id)).out).toBe(`${one.number}.pdf\n`)
  expect(
    readFileSync(join(home, `${one.number}.pdf`))
      .subarray(0, 5)
      .toString(),
  ).toBe('%PDF-')
  await json('bill', 'export', 'datev', '--month', '2026-10', '--out', 'datev.csv')
  expect(readFileSync(join(home, 'datev.csv'), 'latin1').split('\r\n').length).toBe(18)
  expect(await json('bill', 'paid', one.id, '--ref', 'bank 1')).toMatchObject({
    status: 'paid',
    paid_ref: 'bank 1',
  })
  expect(await json('bill', 'unpaid', one.id)).toMatchObject({ status: 'open' })
  expect(await json('bill', 'credit', one.id, '--reason', 'wrong')).toMatchObject({ number: 'GS-0016' })
  expect((await run('bill', 'mail', one.id)).errors).toContain('SMTP_URL')
  expect((await run('bill', 'credit', one.id)).errors).toContain('reason')
  expect((await run('bill', 'list', '--status', 'lost')).errors).toContain('open, paid or credited')
})
