/** The operator is told which prices are their own: those of `prices`, and those of models that only turnpike.yaml has. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, startProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-prices-'))
const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db` }
const model = `{ input_usd_per_1m: "1", output_usd_per_1m: "2", context_tokens: 1000, max_output_tokens: 100 }`
let address = ''
beforeAll(async () => {
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    `vendors: { mine: { base_url: http://127.0.0.1:9/v1, models: { small: ${model} } } }
prices: { local/echo-1: { input_usd_per_1m: "1" } }
`,
  )
  address = (await startProgram(folder, settings)).address
})
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true })
})

test('a model of turnpike.yaml has its price from there', async () => {
  const { out } = await runProgram(folder, settings, 'machine', 'create', '--label', 'm', '--may', 'system')
  const [credential = ''] = out.split('\n')
  const headers = { authorization: `Bearer ${credential}` }
  const answer = await fetch(`${address}/v1/admin/setup`, { headers })
  expect(await answer.json()).toMatchObject({ overridden: ['local/echo-1', 'mine/small'] })
})
