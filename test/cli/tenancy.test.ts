/**
 * The operator's commands on keys and wallets: rights, whole levels of keys, reports that leave out nobody, money back.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchAgain } from '../late-ledger.ts'
import { runProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-tenancy-'))
afterAll(() => rmSync(folder, { recursive: true }))

const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db` }
const run = (...args: string[]) => runProgram(folder, settings, ...args)
const json = async (...args: string[]) => {
  const { code, out, errors } = await run(...args, '--json')
  expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(out)
}

test('rights, levels of keys, reports and withdrawals beside a running server', async () => {
  const { child: server, address } = await startProgram(folder, settings)
  const call = async (key: string) => {
    const answer = await fetchAgain(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    return [answer.status, answer.headers.get('x-cost-usd'), answer.headers.get('x-request-id')] as const
  }
  expect((await json('key', 'list')).map((key: any) => [key.label, key.can_manage])).toEqual([
    ['first key', true],
  ])
  const reseller = await json('key', 'create', '--label', 'reseller')
  expect(reseller.can_manage).toBe(false)
  expect(await json('key', 'limits', reseller.id, '--can-manage', 'on')).toMatchObject({ can_manage: true })
  const region = await json(
    'key',
    'child',
    '--parent',
    reseller.id,
    '--label',
    'region',
    '--can-manage',
    'on',
  )
  const tenant = await json('key', 'child', '--parent', region.id, '--label', 'tenant')
  expect([region.can_manage, tenant.can_manage]).toEqual([true, false])
  const [, cost, request] = await call(tenant.key)
  expect(Number(cost)).toBeGreaterThan(0)
  const told = ['charge', request ?? '']
  await until(async () => (await run(...told)).code === 0)
  expect(await json(...told)).toMatchObject({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    key: expect.stringContaining(`${tenant.id} (`),
    model: 'local/echo-1 of local',
    used: expect.stringMatching(/^input \d+, output \d+/),
    prices: expect.stringMatching(/^input [\d.]+, output [\d.]+.* USD a million$/),
    ended: 'ok',
    posted: [{ kind: 'usage', usd: Number(cost) }],
  })
  const { out: shown } = await run(...told)
  expect(shown).toContain(`${cost}`)
  expect([shown, shown.includes('e-')]).toEqual([expect.stringMatching(/^time +\d{4}-/), false])
  expect((await call(region.key))[0]).toBe(200)

  const sub: any = await fetchAgain(`${address}/api/wallet/sub-wallets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${reseller.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ budget_usd: 1, label: 'nights' }),
  }).then((answer) => answer.json())
  const bound = await json('key', 'limits', region.id, '--sub-wallet', sub.id)
  expect(bound).toMatchObject({ id: region.id, sub_wallet: sub.id })
  expect((await run('key', 'limits', tenant.id, '--sub-wallet', 'none')).errors).toContain(
    `bound to the sub-wallet '${sub.id}'`,
  )
  expect((await run('key', 'limits', region.id, '--sub-wallet', 'sub_x')).errors).toContain(
    'There is no such sub-wallet',
  )
  expect((await call(tenant.key))[0]).toBe(200)
  const bySub = async () =>
    (await json('usage', '--by', 'sub_wallet,payment_mode', '--key', region.id)).map((row: any) => [
      row.sub_wallet_label,
      row.payment_mode,
      row.requests,
    ])
  await until(async () => (await bySub()).length === 2)
  expect((await bySub()).sort()).toEqual([
    [null, 'wallet', 2],
    ['nights', 'wallet', 1],
  ])
  expect(await json('key', 'limits', region.id, '--sub-wallet', 'none')).toMatchObject({ sub_wallet: null })

  expect(await json('key', 'disable', reseller.id, '--with-children')).toMatchObject({ disabled: true })
  for (const { key } of [reseller, region, tenant]) expect((await call(key))[0]).toBe(403)
  const { below } = await json('key', 'enable', reseller.id, '--with-children')
  expect(below.toSorted()).toEqual([region.id, tenant.id].toSorted())
  expect((await call(tenant.key))[0]).toBe(200)
  // A refused call is told beside the charged ones, of whoever was above its key.
  const refused = await fetchAgain(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/echo-1', messages: 5 }),
  })
  expect(refused.status).toBe(400)
  const failures = ['calls', '--key', reseller.id, '--status', 'refused']
  await until(async () => (await json(...failures)).data[0]?.id === refused.headers.get('x-request-id'))
  const [failure] = (await json(...failures)).data
  expect(failure).toMatchObject({
    id: refused.headers.get('x-request-id'),
    key: { id: tenant.id },
    code: 'invalid_parameter',
    param: 'messages',
    cost_usd: 0,
  })
  expect((await json('calls', '--key', tenant.id)).data.map(({ status }: any) => status).slice(0, 2)).toEqual(
    ['refused', 'ok'],
  )
  expect((await run('calls', '--id', failure.id)).out).toContain('invalid_parameter (messages)')
  expect((await run('calls', '--id', failure.id, '--csv')).out).toContain(
    `${failure.id},,,refused,400,invalid_parameter`,
  )
  const sheet = await run('calls', '--key', tenant.id, '--csv', '--limit', '1')
  expect([sheet.out.trim().split('\r\n').length, sheet.errors]).toEqual([
    2,
    expect.stringMatching(/^older ones: --before \S+\n$/),
  ])
  expect((await run('calls', '--key', tenant.id, '--csv')).errors).toBe('')
  expect((await run('calls', '--limit', '0')).errors).toContain(
    '--limit must be a whole number from 1 to 10000',
  )
  expect((await json('key', 'delete', region.id, '--with-children')).below).toEqual([tenant.id])
  for (const { key } of [region, tenant]) expect((await call(key))[0]).toBe(401)
  expect((await json('key', 'list')).map(({ label }: any) => label)).toEqual(['reseller', 'first key'])
  expect((await json('key', 'list', '--deleted')).filter((key: any) => key.deleted)).toHaveLength(2)

  const rows = await json('usage', '--by', 'key')
  expect(rows.map((row: any) => [row.label, row.requests, row.deleted]).toSorted()).toEqual([
    ['region', 1, true],
    ['tenant', 3, true],
  ])
  expect(await json('usage', '--by', 'model', '--key', reseller.id)).toMatchObject([{ requests: 4 }])
  expect(await json('usage', '--by', 'model', '--key', region.prefix, '--own')).toMatchObject([
    { requests: 1 },
  ])
  expect(await json('usage', '--by', 'model', '--key', reseller.id, '--own')).toEqual([])

  const { balance_usd } = await json('wallet', 'show')
  const back = ['wallet', 'withdraw', '--wallet', 'wal_operator', '--ref', 'back-1']
  const taken = await json(...back, '--usd', '1.000000001')
  expect([taken.outcome, taken.balance_usd]).toEqual([
    'posted',
    Number((balance_usd - 1.000000001).toFixed(9)),
  ])
  expect(await json(...back, '--usd', '1.000000001')).toMatchObject({
    outcome: 'replayed',
    balance_usd: taken.balance_usd,
  })
  expect((await json('audit')).every(({ ok }: { ok: boolean }) => ok)).toBe(true)
  for (const wrong of [
    [...back, '--usd', '2'],
    ['wallet', 'withdraw', '--wallet', 'wal_operator', '--usd', '1000000'],
    ['wallet', 'withdraw', '--wallet', 'wal_nobody', '--usd', '1'],
    ['wallet', 'withdraw', '--wallet', 'wal_operator', '--usd', '0'],
    ['usage', '--key', 'key_nobody'],
    ['usage', '--own'],
    ['usage', '--to', '2026-02-30'],
    ['charge', 'no-such-request'],
    ['key', 'limits', reseller.id, '--can-manage', 'yes'],
    ['key', 'enable', region.id],
    ['key', 'child', '--parent', region.id, '--label', 'x'],
  ]) {
    const { code, errors } = await run(...wrong)
    expect([wrong, code, errors.split('\n').length]).toEqual([wrong, 1, 2])
  }
  expect((await json('wallet', 'show')).balance_usd).toBe(taken.balance_usd)
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
})
