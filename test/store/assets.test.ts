/**
 * Rows of stored results, on every engine: visible when they are ready, to their key and those above it, once for each
 * place.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { NewAsset } from '../../src/store/calls/asset-port.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'

const HOUR = 3_600_000
const measured = { sha256: 'ab', bytes: 12, mediaType: 'image/png', extension: 'png', width: 3, height: 4 }

describe.each(engines)('$name', ({ fresh }) => {
  let store: Store
  let stop: () => Promise<void>
  let nowMs = 1_800_000_000_000
  let serial = 0

  beforeAll(async () => {
    const database = await fresh()
    store = await openTestStore({ url: database.url, now: () => nowMs })
    stop = async () => {
      await store.close()
      await database.stop()
    }
    await store.wallets.createWallet({ id: 'wal_a', orgId: 'org', name: 'a' }, byTest)
    for (const [id, parentId] of [['above'], ['own', 'above'], ['below', 'own'], ['other']] as const)
      await store.keys.createKey(
        {
          id,
          hash: id,
          orgId: 'org',
          walletId: 'wal_a',
          label: id,
          prefix: id,
          limits: {},
          ...(parentId === undefined ? {} : { parentId }),
        },
        byTest,
      )
  })
  afterAll(() => stop())

  const begun = async (change: Partial<NewAsset> = {}): Promise<NewAsset> => {
    const id = String(++serial).padStart(32, '0')
    const asset = { id, keyId: 'own', runId: `run-${id}`, place: 0, source: 'fal', ...change }
    await store.assets.beginAsset(asset, HOUR)
    return asset
  }

  test('nobody sees one before its bytes are there', async () => {
    const { id, runId } = await begun()
    expect(await store.assets.asset(id)).toBeUndefined()
    expect(await store.assets.assetFor(id, 'own')).toBeUndefined()
    expect(await store.assets.assetOfRun(runId, 0)).toBeUndefined()
    expect(await store.assets.endAsset(id, 'own')).toBe(false)
    const done = await store.assets.finishAsset(id, measured, 2 * HOUR)
    expect(done).toEqual({
      id,
      runId,
      keyId: 'own',
      place: 0,
      source: 'fal',
      ...measured,
      createdAt: nowMs,
      expiresAt: nowMs + 2 * HOUR,
    })
    expect(await store.assets.asset(id)).toEqual(done)
    expect(await store.assets.assetOfRun(runId, 0)).toEqual(done)
  })

  test('its key and those above it see it and end it, no other', async () => {
    const { id } = await begun()
    await store.assets.finishAsset(id, measured, HOUR)
    const seen = async (key: string) => (await store.assets.assetFor(id, key))?.id
    expect([await seen('own'), await seen('above'), await seen('below'), await seen('other')]).toEqual([
      id,
      id,
      undefined,
      undefined,
    ])
    expect(await store.assets.endAsset(id, 'below')).toBe(false)
    expect(await store.assets.endAsset(id, 'other')).toBe(false)
    expect(await store.assets.asset(id)).toBeDefined()
    expect(await store.assets.endAsset(id, 'above')).toBe(true)
    expect(await store.assets.asset(id)).toBeUndefined()
    expect(await store.assets.endAsset(id, 'own')).toBe(false)
  })

  test('a place of a run is taken once, also by two at the same time', async () => {
    const [one, two] = [await begun({ runId: 'run' }), await begun({ runId: 'run' })]
    const done = await Promise.all([one, two].map(({ id }) => store.assets.finishAsset(id, measured, HOUR)))
    expect(done.filter((asset) => asset !== undefined)).toHaveLength(1)
    expect(await store.assets.assetOfRun('run', 0)).toEqual(done.find((asset) => asset !== undefined))
    expect(await store.assets.assetOfRun('run', 1)).toBeUndefined()
  })

  test('one that was swept while it was written cannot be finished', async () => {
    const { id } = await begun()
    await store.assets.forgetAssets([id])
    expect(await store.assets.finishAsset(id, measured, HOUR)).toBeUndefined()
  })

  test('what is over is not seen, and is found by the sweep, the oldest first', async () => {
    const before = (await store.assets.assetBytes(0)).all
    const [abandoned, kept, short] = [await begun(), await begun(), await begun()]
    await store.assets.finishAsset(kept.id, measured, 4 * HOUR)
    await store.assets.finishAsset(short.id, measured, 2 * HOUR)
    expect((await store.assets.assetBytes(0)).all).toBe(before + 24)
    nowMs += 3 * HOUR
    expect(await store.assets.asset(short.id)).toBeUndefined()
    expect(await store.assets.asset(kept.id)).toBeDefined()
    const ended = await store.assets.endedAssets(1_000)
    expect(ended).toContain(abandoned.id)
    expect(ended).not.toContain(kept.id)
    expect(ended.indexOf(short.id)).toBeGreaterThan(ended.indexOf(abandoned.id))
    expect(await store.assets.endedAssets(2)).toEqual(ended.slice(0, 2))
    await store.assets.forgetAssets(ended)
    expect(await store.assets.endedAssets(1_000)).toEqual([])
    expect((await store.assets.assetBytes(0)).all).toBe(12)
  })
})
