/** Acts over HTTP while the server is killed: each that was answered has its event, once. */
import { afterAll, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { everyRight } from '../../src/control/rights.ts'
import { openView } from '../chaos/view.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const KILLS = 2
const CALLERS = 4
const ANSWERED = 12

const home = await tempFolder('turnpike-killed-')
afterAll(async () => {
  await endPrograms()
  rmSync(home, { recursive: true, force: true })
})

test('every act that was answered is recorded once, whenever the server is killed', async () => {
  const url = `sqlite:${join(home, 'ledger.db')}`
  const settings = { DATABASE_URL: url, LOG: 'off' }
  let server = await startProgram(home, settings)
  const made = await runProgram(
    home,
    settings,
    'machine',
    'create',
    '--label',
    'm',
    '--may',
    everyRight.join(),
    '--rpm',
    '100000',
    '--json',
  )
  const { id: machine, credential } = JSON.parse(made.out)
  /** Subject and label of what was answered. */
  const answered: string[] = []
  let serial = 0
  const act = async (method: string, path: string, label: string): Promise<boolean> => {
    const response = await fetch(`${server.address}/v1/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify(method === 'PUT' ? { label, wallet: 'wal_operator' } : { label }),
    })
    await response.json()
    if (response.ok) answered.push(`${path.slice('/keys/'.length)} ${label}`)
    return response.ok
  }
  /** Makes keys and changes them, until the server is gone. */
  const caller = async (): Promise<void> => {
    for (;;) {
      const id = `key_k${serial++}`
      if (!(await act('PUT', `/keys/${id}`, 'made'))) continue
      await act('PATCH', `/keys/${id}`, 'changed')
    }
  }
  const gone = () => undefined
  for (let kill = 0; kill < KILLS; kill++) {
    const before = answered.length
    const callers = Array.from({ length: CALLERS }, () => caller().catch(gone))
    await until(() => answered.length >= before + ANSWERED)
    server.child.kill('SIGKILL')
    await Promise.all([server.child.exited, ...callers])
    server = await startProgram(home, settings)
  }
  const view = openView(url)
  const events = await view.rows(
    `select subject, after from event where actor_as = 'machine' and actor_id = '${machine}'`,
  )
  await view.close()
  const recorded = events.map(({ subject, after }) => `${subject} ${JSON.parse(after ?? '{}').label}`)
  const times = (one: string) => recorded.filter((other) => other === one).length
  expect(answered.filter((one) => times(one) !== 1)).toEqual([])
  expect(recorded.length).toBe(new Set(recorded).size)
})
