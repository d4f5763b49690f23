/** A ledger of a few hundred keys: calls and loans look up their own rows, although reading all would seem cheap. */
import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openStore } from '../../src/store/open-store.ts'
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
