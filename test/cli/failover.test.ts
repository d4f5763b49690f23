/** An operator whose failover costs more than it brings reads so at the start, in one line. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'

const model = (dollars: string) =>
  `{ input_usd_per_1m: "${dollars}", output_usd_per_1m: "${dollars}", context_tokens: 8000, max_output_tokens: 1000 }`

test('equals that are dearer are named, others are not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-failover-'))
  try {
    const lines = [
      'vendors:',
      '  own: { base_url: "http://127.0.0.1:9/v1", models:',
      `    { asked: ${model('2')}, same: ${model('2')}, dear: ${model('3')}, dearer: ${model('4')} } }`,
      'failover: { own/asked: [own/same, own/dear, own/dearer], own/dear: [own/asked] }',
    ]
    writeFileSync(join(folder, 'turnpike.yaml'), lines.join('\n'))
    const { child } = await startProgram(folder, { DATABASE_URL: 'sqlite::memory:' }, 'pipe')
    child.kill('SIGTERM')
    const errors = await new Response(child.stderr as ReadableStream).text()
    expect(await child.exited).toBe(0)
    const told = errors.split('\n').filter((line) => line.includes('failover'))
    expect(told.map((line) => JSON.parse(line).model)).toEqual([
      'own/asked → own/dear, own/asked → own/dearer',
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 30_000)
