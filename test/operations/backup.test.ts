/** `turnpike backup` and `restore` as an operator runs them: beside a server that charges, killed midway, on full disks. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import {
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder } from '../../src/assets/folder.ts'
import { openStore } from '../../src/store/open-store.ts'
import { fetchAgain } from '../late-ledger.ts'
import { beginProgram, endPrograms, ownProgram, runCommand, runProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-backup-'))
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true })
})

let homes = 0
const newHome = (): string => {
  const home = join(folder, `home-${++homes}`)
  mkdirSync(home)
  return home
}

const LEDGER = { DATABASE_URL: 'sqlite:./ledger.db', ASSETS: './assets' }
const COPY = { DATABASE_URL: 'sqlite:./restored/ledger.db', ASSETS: './restored/assets' }

/** A ledger as a first start makes it, with its first key. */
const madeIn = async (home: string): Promise<string> => {
  const first = await startProgram(home, LEDGER)
  first.child.kill('SIGTERM')
  await first.child.exited
  return first.token
}

const ASSET = 'ab'.repeat(16)
/** A stored result whose bytes are `bytes` long, or a pipe on which its reader waits. */
const fileAsset = async (home: string, bytes: Uint8Array, pipe = false): Promise<string> => {
  const store = await openStore({ url: `sqlite:${join(home, 'ledger.db')}` })
  const asset = { id: ASSET, keyId: 'k', runId: 'run', place: 0, source: 'test' }
  await store.assets.beginAsset(asset, 3_600_000)
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
  const kind = { mediaType: 'image/png', extension: 'png' }
  await store.assets.finishAsset(ASSET, { sha256, bytes: bytes.length, ...kind }, 3_600_000)
  await store.close()
  const path = join(home, 'assets', ASSET.slice(0, 2), ASSET)
  if (pipe) pipeAt(path)
  else await openFolder(join(home, 'assets')).write(ASSET, [bytes].values() as never, kind as never)
  return path
}

const pipeAt = (path: string): void => {
  mkdirSync(join(path, '..'), { recursive: true })
  if (Bun.spawnSync(['mkfifo', path]).exitCode !== 0) throw new Error('no pipe could be made')
}

/** Opens a pipe for writing as soon as somebody waits to read it. */
const whenRead = async (path: string): Promise<number> => {
  let opened: number | undefined
  await until(() => {
    try {
      opened = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch {
      // Nobody reads yet.
    }
    return opened !== undefined
  })
  return opened ?? -1
}

const backupsIn = (place: string): string[] =>
  existsSync(place) ? readdirSync(place).filter((name) => !name.startsWith('.')) : []

const partsIn = (place: string): string[] => readdirSync(place).filter((name) => name.endsWith('.part'))

const lawsHold = async (home: string, settings: Readonly<Record<string, string>>): Promise<void> => {
  const audit = await runProgram(home, settings, 'audit')
  expect([audit.code, audit.errors]).toEqual([0, ''])
}

const postingsOf = (path: string): Map<string, string> => {
  const file = new Database(path)
  const rows = file.query<Record<string, string>, []>('select * from transfer').all()
  file.close()
  return new Map(rows.map((row) => [`${row.kind} ${row.ref}`, JSON.stringify(row)]))
}

test('while calls are charged: what is restored is the ledger of one moment, its books hold, and it serves', async () => {
  const home = newHome()
  const bytes = new Uint8Array(9_000_000).fill(7)
  await madeIn(home)
  await fileAsset(home, bytes)
  // The first key is limited in its rate.
  const { key: token } = JSON.parse(
    (await runProgram(home, LEDGER, 'key', 'create', '--label', 'load', '--rpm', '100000', '--json')).out,
  )
  const { child, address } = await startProgram(home, LEDGER)
  const call = async (at: string): Promise<string> => {
    const answer = await fetchAgain(`${at}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await answer.text()
    expect(answer.status).toBe(200)
    return answer.headers.get('x-request-id') ?? ''
  }
  let calling = true
  const answered: string[] = []
  const load = Promise.all(
    [1, 2, 3, 4].map(async () => {
      while (calling) answered.push(await call(address))
    }),
  )
  await until(() => answered.length > 50)
  const before = [...answered]
  const made = await runProgram(home, LEDGER, 'backup', './kept', '--json')
  expect([made.code, made.errors]).toEqual([0, ''])
  const report = JSON.parse(made.out)
  const during = answered.length
  await until(() => answered.length > during + 20)
  calling = false
  await load
  const after = await call(address)
  child.kill('SIGKILL')
  await child.exited

  expect(report.audit.broken).toEqual([])
  expect(report.assets).toEqual({ files: 1, bytes: bytes.length, gone: 0 })
  const back = await runProgram(home, COPY, 'restore', report.backup)
  expect([back.code, back.errors]).toEqual([0, ''])
  expect(back.out).toContain('invariants hold')
  await lawsHold(home, COPY)
  const [whole, kept] = [postingsOf(join(home, 'ledger.db')), postingsOf(join(home, 'restored/ledger.db'))]
  for (const [ref, row] of kept) expect(whole.get(ref)).toBe(row)
  for (const id of before) expect(kept.has(`usage ${id}`)).toBe(true)
  expect(kept.has(`usage ${after}`)).toBe(false)
  expect(whole.has(`usage ${after}`)).toBe(true)
  expect(report.rows.transfer).toBe(kept.size)
  const asset = join(home, 'restored/assets', ASSET.slice(0, 2), ASSET)
  expect(readFileSync(asset).equals(bytes)).toBe(true)
  expect([statSync(asset).mode & 0o777, statSync(join(home, 'restored/ledger.db')).mode & 0o777]).toEqual([
    0o600, 0o600,
  ])

  const again = await startProgram(home, COPY)
  await call(again.address)
  again.child.kill('SIGTERM')
  expect(await again.child.exited).toBe(0)
  await lawsHold(home, COPY)
})

test('a backup that is killed midway is none, and the next one is whole', async () => {
  const home = newHome()
  await madeIn(home)
  const pipe = await fileAsset(home, new Uint8Array(100), true)
  const killed = beginProgram(home, LEDGER, 'backup', './kept')
  const copied = () => {
    const [part] = existsSync(join(home, 'kept')) ? partsIn(join(home, 'kept')) : []
    const ledger = join(home, 'kept', part ?? '', 'ledger.db')
    return part !== undefined && existsSync(ledger) && statSync(ledger).size > 100_000 ? part : undefined
  }
  // The ledger is copied, the result never is.
  await until(() => copied() !== undefined)
  const part = copied() ?? ''
  expect(backupsIn(join(home, 'kept'))).toEqual([])
  const second = await runProgram(home, LEDGER, 'backup', './kept')
  expect([second.code, second.errors]).toEqual([
    1,
    `turnpike: no backup was made, and the ledger is as it was: another backup is made in ${join(home, 'kept')} now\n`,
  ])
  killed.kill('SIGKILL')
  await killed.exited
  const half = await runProgram(home, COPY, 'restore', join('kept', part))
  expect([half.code, half.errors]).toEqual([1, expect.stringContaining('is no whole backup')])
  expect(existsSync(join(home, 'restored'))).toBe(false)

  rmSync(pipe)
  const next = await runProgram(home, LEDGER, 'backup', './kept', '--json')
  expect(next.code).toBe(0)
  expect(partsIn(join(home, 'kept'))).toEqual([])
  // A missing result is reported, and the backup is kept all the same.
  expect(JSON.parse(next.out).assets).toEqual({ files: 0, bytes: 0, gone: 1 })
  expect((await runProgram(home, COPY, 'restore', JSON.parse(next.out).backup)).code).toBe(0)
  await lawsHold(home, LEDGER)
})

test('a restore that is killed midway leaves no ledger, and the next one is whole', async () => {
  const home = newHome()
  await madeIn(home)
  const made = JSON.parse((await runProgram(home, LEDGER, 'backup', './kept', '--json')).out)
  const slow = join(home, 'slow')
  cpSync(made.backup, slow, { recursive: true })
  const half = readFileSync(join(slow, 'ledger.db')).subarray(0, 50_000)
  rmSync(join(slow, 'ledger.db'))
  pipeAt(join(slow, 'ledger.db'))
  const killed = beginProgram(home, COPY, 'restore', slow)
  const writer = await whenRead(join(slow, 'ledger.db'))
  writeSync(writer, half)
  const part = join(home, 'restored/ledger.db.restore')
  await until(() => existsSync(part) && statSync(part).size === half.length)
  // Nobody serves there meanwhile.
  const server = await runProgram(home, COPY, 'serve')
  expect([server.code, server.errors]).toEqual([1, expect.stringContaining('another server runs on')])
  killed.kill('SIGKILL')
  await killed.exited
  closeSync(writer)
  const ledger = join(home, 'restored/ledger.db')
  expect(existsSync(ledger) ? statSync(ledger).size : 0).toBe(0)
  expect((await runProgram(home, COPY, 'audit')).errors).toContain('there is no ledger')

  const next = await runProgram(home, COPY, 'restore', made.backup)
  expect([next.code, next.errors]).toEqual([0, ''])
  expect(readdirSync(join(home, 'restored')).filter((name) => name.includes('restore'))).toEqual([])
  await lawsHold(home, COPY)
})

test('a disk that takes no more ends a backup with a clear line and leaves the ledger sound', async () => {
  const home = newHome()
  const token = await madeIn(home)
  await fileAsset(home, new Uint8Array(5_000_000))
  const { child, address } = await startProgram(home, LEDGER)
  const limited = (blocks: number) => ['bash', '-c', `ulimit -f ${blocks}; exec "$0" "$@"`, ownProgram]
  // 50 KB: not even the ledger. 3 MB: the ledger, not the result.
  for (const blocks of [50, 3_000]) {
    const failed = await runCommand(limited(blocks), home, LEDGER, 'backup', './kept')
    expect([failed.code, failed.out]).toEqual([1, ''])
    expect(failed.errors).toMatch(
      /^turnpike: no backup was made, and the ledger is as it was: the disk takes no more .*\n$/,
    )
    expect(readdirSync(join(home, 'kept'))).toEqual(['.turnpike-backup'])
  }
  const answer = await fetchAgain(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect(answer.status).toBe(200)
  const made = JSON.parse((await runProgram(home, LEDGER, 'backup', './kept', '--json')).out)
  for (const blocks of [50, 3_000]) {
    const failed = await runCommand(limited(blocks), home, COPY, 'restore', made.backup)
    expect([failed.code, failed.errors]).toEqual([1, expect.stringContaining('the disk takes no more')])
    expect(statSync(join(home, 'restored/ledger.db')).size).toBe(0)
  }
  expect((await runProgram(home, COPY, 'restore', made.backup)).code).toBe(0)
  child.kill('SIGTERM')
  await child.exited
  await lawsHold(home, LEDGER)
})

test('restore goes only where no ledger is, and takes nothing that is damaged, newer or no backup', async () => {
  const home = newHome()
  await madeIn(home)
  await fileAsset(home, new Uint8Array(40_000))
  const made = JSON.parse((await runProgram(home, LEDGER, 'backup', './kept', '--json')).out)
  const restore = async (from: string, settings: Readonly<Record<string, string>> = COPY) => {
    const { code, errors } = await runProgram(home, settings, 'restore', from)
    return [code, errors] as const
  }
  const was = readFileSync(join(home, 'ledger.db'))
  expect(await restore(made.backup, LEDGER)).toEqual([
    1,
    'turnpike: nothing was restored: ./ledger.db is there: restore goes only where no ledger is, and changes none\n',
  ])
  expect(readFileSync(join(home, 'ledger.db')).equals(was)).toBe(true)
  expect((await restore('kept'))[1]).toContain('is no whole backup')
  const changed = (name: string, change: (folder: string) => void): string => {
    cpSync(made.backup, join(home, name), { recursive: true })
    change(join(home, name))
    return name
  }
  const flipped = changed('flipped', (at) => {
    const file = readFileSync(join(at, 'ledger.db'))
    file.writeUInt8(file.readUInt8(200_000) ^ 1, 200_000)
    writeFileSync(join(at, 'ledger.db'), file)
  })
  expect((await restore(flipped))[1]).toContain('the backup is damaged')
  const newer = changed('newer', (at) => {
    const path = join(at, 'manifest.json')
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), schema: 9_999 }))
  })
  expect((await restore(newer))[1]).toContain('is newer than this program')
  const ledger = join(home, 'restored/ledger.db')
  expect(existsSync(ledger) ? statSync(ledger).size : 0).toBe(0)
  // A damaged result is not restored, and hinders nothing else.
  const torn = changed('torn', (at) =>
    writeFileSync(join(at, 'assets', ASSET.slice(0, 2), ASSET), 'something else'),
  )
  expect(await restore(torn)).toEqual([
    1,
    'turnpike: the ledger is restored, but 1 result beside it is missing or damaged in the backup\n',
  ])
  expect(existsSync(join(home, 'restored/assets', ASSET.slice(0, 2), ASSET))).toBe(false)
  await lawsHold(home, COPY)
})

test("a secret that is the operator's is not in the backup, and who restores is told so", async () => {
  const home = newHome()
  const secret = { TURNPIKE_SECRET: 'a-secret-of-the-operator' }
  const first = await startProgram(home, { ...LEDGER, ...secret })
  first.child.kill('SIGTERM')
  await first.child.exited
  const made = await runProgram(home, { ...LEDGER, ...secret }, 'backup', './kept')
  expect(made.out).toContain('Not part of it: TURNPIKE_SECRET')
  const [name = ''] = backupsIn(join(home, 'kept'))
  for (const file of readdirSync(join(home, 'kept', name)))
    expect(readFileSync(join(home, 'kept', name, file)).includes(secret.TURNPIKE_SECRET)).toBe(false)
  const without = await runProgram(home, COPY, 'restore', join('kept', name))
  expect([without.code, without.out.includes('Before you start: set TURNPIKE_SECRET')]).toEqual([0, true])
  rmSync(join(home, 'restored'), { recursive: true })
  const withIt = await runProgram(home, { ...COPY, ...secret }, 'restore', join('kept', name))
  expect([withIt.code, withIt.out.includes('TURNPIKE_SECRET')]).toEqual([0, false])
  // Another secret is no secret that is still to be set: what starts the server next would start it for nobody.
  const another = { TURNPIKE_SECRET: 'a-secret-of-somebody-else' }
  for (const [settings, code, before] of [
    [{}, 0, expect.stringContaining('set TURNPIKE_SECRET to what it was')],
    [secret, 0, null],
    [another, 1, expect.stringContaining('set TURNPIKE_SECRET to what it was')],
    [{ ...another, TURNPIKE_SECRET_OLD: secret.TURNPIKE_SECRET }, 0, null],
  ] as const) {
    rmSync(join(home, 'restored'), { recursive: true })
    const told = await runProgram(home, { ...COPY, ...settings }, 'restore', join('kept', name), '--json')
    expect([told.code, JSON.parse(told.out).before_you_start]).toEqual([code, before])
    expect(told.errors).toContain(code === 0 ? '' : 'the ledger is restored, but not for these settings')
  }
})
