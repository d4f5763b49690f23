/** A ledger of a few hundred keys: calls and loans look up their own rows, although reading all would seem cheap. */
import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openStore } from '../../src/store/open-store.ts'
import { tagPathOf } from '../../src/tenancy/tags.ts'
import { postgresForTests } from '../postgres.ts'
import { rowsRead } from './rows-read.ts'
import { batchOf, CENT, createOneKey, detailFor } from './world.ts'

const KEYS = 500
/** PostgreSQL plans a statement anew for its first few runs. */
const LOANS = 12
/** What a loan, its intent and its charge read of rows by indexes: their own, and those that they just changed. */
const ROWS_EACH = 60

/** How many commits of calls, and of how many each. */
const [ROUNDS, AT_ONCE] = [30, 48]
/** Calls that vouchers pay for, one after the other, as a channel has them. */
const VOUCHERS = 400

test('a loan and its call read only their own rows of a small ledger', async () => {
  const database = await postgresForTests()
  const opened = await openStore({ url: database.url })
  await createOneKey(opened)
  await opened.close()
  const fill = new SQL({ url: database.url, max: 1 })
  const each = `from generate_series(1, ${KEYS}) n`
  for (const statement of [
    `insert into account (id, bounded, org_id, name, created_at) values ('others', 1, 'o', '', 0)`,
    `insert into api_key (id, hash, org_id, wallet_id, ancestors, label, prefix, created_at, changed_at)
       select 'key' || n, 'hash' || n, 'o', 'w', '[]', '', '', 0, 0 ${each}`,
    `insert into key_line (key_id, owner_id, depth) select 'key' || n, 'key' || n, 0 ${each}`,
    `insert into budget (scope, owner_id, wallet_id) select 'key:key' || n, 'key' || n, 'w' ${each}`,
    `insert into lease (id, instance, key_id, wallet_id, month, day, expires_at)
       select 'other:' || n, 'other', 'key' || n, 'others', '2026-01', '2026-01-01', 9e15 ${each}`,
    'analyze',
  ])
    await fill.unsafe(statement)
  await fill.close()
  const before = await rowsRead(database.url, ['api_key', 'budget', 'key_line', 'lease'])
  const store = await openStore({ url: database.url })
  for (let n = 1; n <= LOANS; n++) {
    const [keyId, leaseId, callId] = [`key${n}`, `i:${n}`, `call${n}`]
    const ask = { instance: 'i', keyId, leaseId, need: 100n, want: CENT, useful: 1n, ttlMs: 60_000 }
    expect((await store.ledger.lend(ask)).outcome).toBe('lent')
    const intent = { callId, leaseId, hold: 100n }
    await store.ledger.commit(batchOf('i', { intents: [intent] }))
    const settle = { callId, leaseId, payer: 'w', charge: 70n, excess: 0n, detail: detailFor(keyId) }
    await store.ledger.commit(batchOf('i', { settles: [settle] }))
  }
  await store.close()
  const after = await rowsRead(database.url, ['api_key', 'budget', 'key_line', 'lease'])
  expect((after - before) / LOANS).toBeLessThan(ROWS_EACH)
  await database.stop()
})

test('a call reads no more while its ledger grows from nothing, by plans that were made when it was empty', async () => {
  const database = await postgresForTests()
  const store = await openStore({ url: database.url })
  await createOneKey(store)
  const [keyId, leaseId] = ['k', 'i:1']
  const ask = { instance: 'i', keyId, leaseId, need: 100n, want: CENT, useful: 1n, ttlMs: 60_000 }
  expect((await store.ledger.lend(ask)).outcome).toBe('lent')
  for (let round = 0; round < ROUNDS; round++) {
    const ids = Array.from({ length: AT_ONCE }, (_, n) => `call${round}:${n}`)
    const intents = ids.map((callId) => ({ callId, leaseId, hold: 100n }))
    await store.ledger.commit(batchOf('i', { intents }))
    const charged = { leaseId, payer: 'w', charge: 70n, excess: 0n, detail: detailFor(keyId) }
    await store.ledger.commit(batchOf('i', { settles: ids.map((callId) => ({ ...charged, callId })) }))
  }
  await store.close()
  const reads = await rowsRead(database.url, ['transfer', 'inflight', 'usage_detail'])
  expect(reads / ROUNDS / AT_ONCE).toBeLessThan(ROWS_EACH)
  await database.stop()
})

test('so does a call that a voucher pays for, and one whose answer is kept', async () => {
  const database = await postgresForTests()
  const store = await openStore({ url: database.url })
  await createOneKey(store)
  const [keyId, account, unit] = ['k', 'x402:channel:c', 1_000n]
  const channel = { id: 'c', asset: 'token', account, config: '{}', unit }
  const seen = { balance: CENT, claimed: 0n, leavingAt: undefined }
  for (let call = 0; call < VOUCHERS; call++) {
    const [callId, leaseId, id] = [`call${call}`, 'i:1', `voucher${call}`]
    const most = BigInt(call + 1) * unit
    const ref = { keyId, endpoint: 'x402', key: id }
    const entry = { ref, fingerprint: 'f', callId, instance: 'i', lockMs: 60_000 }
    const voucher = {
      id,
      callId,
      fingerprint: 'f',
      amount: unit,
      payer: 'p',
      channel,
      most,
      signature: 's',
      seen,
    }
    // Every other voucher comes with its call's intent.
    const record = call % 2 === 1 ? { ...entry, amount: unit, payer: 'p' } : undefined
    if (record === undefined) {
      expect((await store.idempotency.begin(entry)).state).toBe('first')
      const it = { ...voucher, deposit: undefined, transaction: undefined }
      expect((await store.channels.takeVoucher(it)).outcome).toBe('authorized')
    }
    const ofCall = { id, channel: 'c', unit, most, signature: 's', record }
    const ask = {
      instance: 'i',
      keyId,
      payer: account,
      leaseId,
      need: 100n * BigInt(VOUCHERS),
      want: CENT,
      useful: 1n,
      ttlMs: 60_000,
    }
    if (call === 0) expect((await store.ledger.lend(ask)).outcome).toBe('lent')
    const settle = {
      ...{ callId, leaseId, payer: account, charge: 70n, excess: 0n, detail: detailFor(keyId) },
      answer: { ref, answer: { status: 200, headers: {}, body: '' } },
      voucher: ofCall,
    }
    const intents = [{ callId, leaseId, hold: 100n, voucher: ofCall }]
    await store.ledger.commit(batchOf('i', { intents, settles: [settle] }))
  }
  expect((await store.channels.channel('c'))?.charged).toBe(BigInt(VOUCHERS) * unit)
  await store.close()
  const reads = await rowsRead(database.url, ['transfer', 'x402_payment', 'x402_channel', 'idempotency'])
  expect(reads / VOUCHERS).toBeLessThan(ROWS_EACH)
  await database.stop()
})

/** Keys that call for their first time: some make the plans, while no other key is in the ledger. */
const [WARM, COLD] = [12, 200]
/** What the whole way of a key reads of all tables: two calls, under each kind of limit, with what is asked and given back beside them. */
const WAY_ROWS = 420

test('a key reads no more from its first call to its last however many called before it, by plans that were made for few', async () => {
  const database = await postgresForTests()
  await (await openStore({ url: database.url })).close()
  const fill = new SQL({ url: database.url, max: 1 })
  const keysFrom = async (from: number, to: number) => {
    const each = `from generate_series(${from}, ${to}) n`
    const key =
      'id, hash, org_id, wallet_id, ancestors, label, prefix, created_at, changed_at, spend_cap, rpm'
    const made = `'o', 'w' || n, %, '', '', 0, 0, ${100n * CENT}, 60 ${each}`
    for (const one of [
      `insert into account (id, bounded, org_id, name, created_at, balance) select 'w' || n, 1, 'o', '', 0, ${100n * CENT} ${each}`,
      `insert into wallet_rules (wallet_id, rules, daily_limit, version, changed_at) select 'w' || n, '{}', ${50n * CENT}, 1, 0 ${each}`,
      `insert into tag_budget (id, wallet_id, tag, value, spend_cap, values_max, beyond, created_at)
         select 't' || n, 'w' || n, 'user', '', ${CENT}, 9, 'refuse', 0 ${each}`,
      `insert into api_key (${key}, stop_at) select 'above' || n, 'above' || n, ${made.replace('%', "'[]'").replace('60', '60, 1')}`,
      `insert into api_key (${key}, parent_id) select 'k' || n, 'h' || n, ${made.replace('%', `'["above' || n || '"]'`).replace('60', `60, 'above' || n`)}`,
      `insert into key_line (key_id, owner_id, depth) select 'above' || n, 'above' || n, 0 ${each}`,
      `insert into key_line (key_id, owner_id, depth) select 'k' || n, 'k' || n, 0 ${each}`,
      `insert into key_line (key_id, owner_id, depth) select 'k' || n, 'above' || n, 1 ${each}`,
    ])
      await fill.unsafe(one)
  }
  const store = await openStore({ url: database.url })
  const wayOf = async (n: number) => {
    const [keyId, leaseId, instance] = [`k${n}`, `i:${n}`, 'i']
    expect((await store.keys.callerByHash(`h${n}`))?.key.id).toBe(keyId)
    const share = { name: `share${n}`, instance, size: 15 }
    const [taken] = await store.rates.takeRates(keyId, [{ rate: 'rpm', limit: 60, count: 15, share }])
    expect(taken?.share).toBe(15)
    const tags = tagPathOf({ user: 'u' }, ['user'])
    const path = { instance, keyId, leaseId, ...(tags === undefined ? {} : { tags }) }
    const ask = { ...path, need: 100n, want: 1_000n, useful: 1n, ttlMs: 60_000 }
    for (const call of ['first', 'later']) {
      expect((await store.ledger.lend(ask)).outcome).toBe('lent')
      const callId = `${call}${n}`
      await store.ledger.commit(batchOf('i', { intents: [{ callId, leaseId, hold: 100n }] }))
      const settle = { callId, leaseId, payer: `w${n}`, charge: 70n, excess: 0n, detail: detailFor(keyId) }
      await store.ledger.commit(batchOf('i', { settles: [settle] }))
    }
    await store.ledger.renew('i', [leaseId], 60_000)
    await store.ledger.giveBack(leaseId, 10n)
    const back = { rate: 'rpm' as const, windowStart: taken?.windowStart ?? 0, count: 5 }
    await store.rates.returnRate(keyId, back)
    await store.rates.returnRate(keyId, { ...back, share: share.name })
  }
  await keysFrom(1, WARM)
  for (let n = 1; n <= WARM; n++) await wayOf(n)
  await keysFrom(WARM + 1, WARM + COLD)
  for (let n = WARM + 1; n <= WARM + COLD; n++) await wayOf(n)
  await Promise.all([store.close(), fill.close()])
  const reads = await rowsRead(database.url)
  expect(reads / (WARM + COLD)).toBeLessThan(WAY_ROWS)
  await database.stop()
})
