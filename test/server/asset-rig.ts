/** Stored results for tests: a folder of their own, and an Internet that is one server on this machine. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import {
  type AssetParts,
  type Assets,
  openAssets,
  type Result,
  type StoredAsset,
} from '../../src/assets/assets.ts'
import { openFolder } from '../../src/assets/folder.ts'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import type { AssetStore } from '../../src/store/calls/asset-port.ts'
import { openPool, type Pool } from '../../src/transport/local-media/pool.ts'
import type { PublicParts } from '../../src/transport/public-address.ts'
import { tempFolder } from '../temp-folder.ts'
import { startTestServer, type TestServer } from './harness.ts'

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const chunk = (type: string, data: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data])
  return Buffer.concat([u32(data.length), body, u32(Bun.hash.crc32(body))])
}

/** A grey picture; `pad` bytes of text make it longer. */
export const png = (width: number, height: number, pad = 0): Buffer =>
  Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', Buffer.concat([u32(width), u32(height), Buffer.from([8, 0, 0, 0, 0])])),
    ...(pad === 0 ? [] : [chunk('tEXt', randomBytes(pad))]),
    chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height))),
    chunk('IEND', Buffer.alloc(0)),
  ])

/** The beginning of an MP4. */
export const mp4Head = Buffer.concat([u32(24), Buffer.from('ftypisom\0\0\x02\0isommp41', 'latin1')])

export type Web = PublicParts & { readonly port: number; stop(): void }

/** Every name but those that begin with `inside` is public; all of them lead to `answer`. */
export const startWeb = (answer: (path: string) => Response | Promise<Response>): Web => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => answer(new URL(request.url).pathname),
  })
  return {
    port: server.port ?? 0,
    resolve: async (host) => (host.startsWith('inside') ? ['10.1.2.3'] : ['1.1.1.1']),
    fetch: (url, { tls: _, ...init }) =>
      fetch(`http://127.0.0.1:${server.port}${new URL(url).pathname}`, init),
    stop: () => void server.stop(true),
  }
}

export type AssetServer = TestServer & {
  readonly assets: Assets
  readonly folder: string
  /** A result of a new run of the key; a picture by default. */
  keep(it: Partial<Result> & { readonly keyId: string }): Promise<StoredAsset>
  /** What a signed address gives. */
  fetchUrl(url: string, headers?: Record<string, string>, method?: string): Promise<Response>
}

type Setup = {
  readonly url?: string
  readonly now?: () => number
  readonly web?: Web
  readonly change?: Partial<AssetParts>
  /** The parts of the server beside the assets. */
  readonly server?: Parameters<typeof startTestServer>[0]
}

const HOUR = 3_600_000

export const ASSET_SETTINGS: AssetParts['settings'] = {
  lifeMs: 48 * HOUR,
  addressMs: 24 * HOUR,
  bytesMax: 1e9,
  freeBytesMin: 0,
  small: { bytes: 32 * 1024, allBytes: 1e9 },
  uploads: { lifeMs: 24 * HOUR, bytesMax: 5_000_000, keyBytesMax: 12_000_000 },
}

/** All bytes are stored in files. */
export const IN_FILES: AssetParts['settings'] = { ...ASSET_SETTINGS, small: { bytes: 0, allBytes: 0 } }

/** One for all servers of a test file; it ends when idle. */
let pool: Pool | undefined
const measuring = (): Pool => {
  pool ??= openPool({ processes: 1, waiting: 1_000 })
  return pool
}

export const startAssetServer = async ({
  url,
  now,
  web,
  change,
  server: more,
}: Setup = {}): Promise<AssetServer> => {
  const folder = await tempFolder('turnpike-assets-')
  const nowhere: PublicParts = {
    resolve: async () => [],
    fetch: () => Promise.reject(new Error('there is no Internet here')),
  }
  const partsFor = (own: {
    readonly store: AssetStore
    readonly hash: (text: string) => string
  }): AssetParts => ({
    ...own,
    bytes: openFolder(join(folder, 'assets')),
    web: web ?? nowhere,
    measuring: measuring(),
    clock: { ...systemClock, now: now ?? systemClock.now },
    log: silentLog,
    newId: () => randomBytes(16).toString('hex'),
    base: () => 'http://turnpike.test',
    settings: ASSET_SETTINGS,
    ...change,
  })
  const server = await startTestServer({
    ...more,
    ...(url === undefined ? {} : { url }),
    ...(now === undefined ? {} : { now }),
    assets: (own) => openAssets(partsFor(own)),
  })
  const { assets } = server.gateway
  if (assets === undefined) throw new Error('the server has no assets')
  return {
    ...server,
    assets,
    folder: join(folder, 'assets'),
    keep: (it) =>
      assets.keep({ runId: crypto.randomUUID(), index: 0, type: 'image', from: { bytes: png(3, 2) }, ...it }),
    fetchUrl: (address, headers = {}, method = 'GET') =>
      server.fetch(new Request(address, { headers, method })),
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The reading side of a fake that only stores: nothing can be read. */
export const unread: Omit<Assets, 'keep' | 'bytes' | 'full'> = {
  kept: async () => undefined,
  base: () => 'http://turnpike.test',
  lengthMs: async () => undefined,
  checkSignature: () => 'forged',
  find: async () => undefined,
  findFor: async () => undefined,
  open: async () => undefined,
  end: async () => false,
  sweep: async () => 0,
  uploads: {
    bytesMax: 0,
    full: async () => undefined,
    take: () => Promise.reject(new Error('nothing is kept')),
    findFor: async () => undefined,
    list: async () => [],
    address: () => undefined,
    bytes: async () => undefined,
    keep: () => Promise.reject(new Error('nothing is kept')),
    part: async () => undefined,
  },
  fetchInput: async function* () {},
}
