/** Credit lines by command: a wallet goes by its name everywhere, and what is not named stays as it was. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { runProgram } from '../program.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-credit-'))
afterAll(() => rmSync(home, { recursive: true }))

test('a credit line is granted, changed, shown and stated by the name of its wallet', async () => {
  const url = `sqlite:${join(home, 'ledger.db')}`
  await (await openStore({ url })).close()
  const json = async (...args: string[]) => {
    const { code, out, errors } = await runProgram(home, { DATABASE_URL: url }, ...args, '--json')
    expect([args, code, errors]).toEqual([args, 0, ''])
    return JSON.parse(out)
  }
  await json('wallet', 'create', '--name', 'acme')
  const line = await json('credit', 'grant', '--wallet', 'acme', '--usd', '500', '--net-days', '30')
  expect(await json('credit', 'show', 'acme')).toEqual({ ...line, invoices: [] })
  expect(await json('credit', 'statement', '--wallet', 'acme')).toMatchObject({ wallet: line.wallet })
  for (const usd of ['600', '0'])
    expect(await json('credit', 'grant', '--wallet', 'acme', '--usd', usd)).toMatchObject({
      limit_usd: Number(usd),
      net_days: 30,
    })
  await json('wallet', 'create', '--name', 'other')
  expect(await json('credit', 'grant', '--wallet', 'other', '--usd', '1')).toMatchObject({ net_days: 14 })
})
