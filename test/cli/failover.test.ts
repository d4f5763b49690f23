/** A failover that costs more than it earns is the operator's choice, and the start names each. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'

const model = (dollars: string) =>
  `{ input_usd_per_1m: "${dollars}", output_usd_per_1m: "${dollars}", context_tokens: 8000, max_output_tokens: 1000 }`

test('equals that are dearer are used only where the file says so, and named either way', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-failover-'))
  try {
    const lines = [
      'vendors:',
      '  own: { base_url: "http://127.0.0.1:9/v1", models:',
      `    { asked: ${model('2')}, same: ${model('2')}, dear: ${model('3')}, dearer: ${model('4')} } }`,
      'failover:',
      '  own/asked: [own/same, own/dear, { model: own/dearer, dearer: true }]',
      '  own/dear: [own/asked]',
    ]
    writeFileSync(join(folder, 'turnpike.yaml'), lines.join('\n'))
    const { child } = await startProgram(folder, { DATABASE_URL: 'sqlite::memory:' }, 'pipe')
    child.kill('SIGTERM')
    const errors = await new Response(child.stderr as ReadableStream).text()
    expect(await child.exited).toBe(0)
    const warnings = errors.split('\n').filter((line) => line.includes(' → '))
    expect(warnings.map((line) => [JSON.parse(line).event.split(';')[0], JSON.parse(line).model])).toEqual([
      [
        'failover to a dearer model is charged at the price of the model that was asked for',
        'own/asked → own/dearer',
      ],
      ['dearer equals are not used', 'own/asked → own/dear'],
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
