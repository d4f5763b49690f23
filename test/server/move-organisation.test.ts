/**
 * An organisation moves ten times between two cells that are both served, while a client calls that keeps its own books and its
 * batches are run: a call waits at most a second, or is told by name, and is charged once wherever it is answered, as each line.
 */
import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { openFolder } from '../../src/assets/folder.ts'
import { type MoveOrganisation, moveOrganisation } from '../../src/store/move/move-organisation.ts'
import { byTest } from '../by-test.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { chatLine } from './batch-rig.ts'
import { chat, completion, jsonOf, streamEvents, USD } from './harness.ts'
import { clientOf } from './official-client.ts'
import { PART_LINE, type PartServer, partModels, startPartServer, startPartVendors } from './part-rig.ts'

const [file, postgres] = engines.filter(({ lasting }) => lasting)
if (file === undefined || postgres === undefined) throw new Error('there are two engines')

/** 10 tokens in and 5 out. */
const COST = 60_000n
const FUND = 10n * USD
const ORG = { orgId: 'org_moves', walletId: 'wal_moves' }

/** Two cells, and a client that asks where its organisation was last, as answers tell it. */
const twoCells = async (urls: readonly [string, string]) => {
  const folder = await tempFolder('turnpike-two-cells-')
  const shared = await startPartVendors()
  const start = (url: string) => startPartServer({ url, change: { bytes: openFolder(folder) } }, shared)
  const cells: Readonly<Record<string, PartServer>> = { a: await start(urls[0]), b: await start(urls[1]) }
  const at = (cell: string): PartServer => cells[cell] ?? missing(cell)
  await at('a').store.wallets.createWallet({ id: ORG.walletId, orgId: ORG.orgId, name: 'moves' }, byTest)
  await at('a').store.ledger.post({
    kind: 'topup',
    ref: 'paid',
    debit: 'cash',
    credit: ORG.walletId,
    amount: FUND,
  })
  let lastCell = 'a'
  /** Of a call until it was answered, and of one request. */
  const longestMs = { call: 0, request: 0 }
  const told = new Set<string>()
  /** Asks until it is answered; what refuses says where to ask, or to wait. */
  const ask = async (
    token: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Response> => {
    for (const askedMs = performance.now(); ; ) {
      const beganMs = performance.now()
      const answer = await at(lastCell).post('/v1/chat/completions', body, headers, token)
      longestMs.request = Math.max(longestMs.request, performance.now() - beganMs)
      longestMs.call = Math.max(longestMs.call, performance.now() - askedMs)
      if (answer.status !== 503 && answer.status !== 421) return answer
      const { error } = await jsonOf(answer)
      told.add(`${answer.status} ${error.code}`)
      if (answer.status === 421) lastCell = error.cell
      else expect([error.code, answer.headers.get('retry-after')]).toEqual(['moving', '1'])
    }
  }
  const move = (cell: string, more: Partial<MoveOrganisation> = {}) =>
    moveOrganisation({
      orgId: ORG.orgId,
      from: { url: urls[cell === 'a' ? 1 : 0], cell: cell === 'a' ? 'b' : 'a' },
      to: { url: urls[cell === 'a' ? 0 : 1], cell },
      by: byTest,
      waitMs: 600_000,
      tell: () => undefined,
      ...more,
    })
  const broken = async () => [...(await brokenLaws(at('a').store)), ...(await brokenLaws(at('b').store))]
  const stop = async () => {
    for (const cell of ['a', 'b']) await at(cell).stop()
    await shared.stop()
    await rm(folder, { recursive: true })
  }
  return { at, ask, move, broken, told, longestMs, vendors: shared.vendors, stop }
}

/** Of the batch that is run here, how many of them before each move; and of each that a vendor runs. */
const LINES = 330
const LINES_A_MOVE = 25
const PART_LINES = 40

const missing = (cell: string): never => {
  throw new Error(`there is no cell ${cell}`)
}

for (const [one, other] of [
  [file, file],
  [file, postgres],
] as const)
  test(`calls go on while it moves ten times, on ${one.name} and ${other.name}`, async () => {
    const databases = [await one.fresh(), await other.fresh()] as const
    const { at, ask, move, broken, told, longestMs, vendors, stop } = await twoCells([
      databases[0].url,
      databases[1].url,
    ])
    const key = (parentId?: string) =>
      at('a').newKey({}, { ...ORG, ...(parentId === undefined ? { canManage: true } : { parentId }) })
    const reseller = await key()
    const tenants = await Promise.all(Array.from({ length: 1_000 }, () => key(reseller.id)))
    const revoked = await key()
    await at('a').gateway.book.changeKey(revoked.id, { disabledReason: 'operator', byCreator: true }, byTest)
    const repeated = { 'idempotency-key': 'asked-once' }
    const first = await (await ask(reseller.token, chat(), repeated)).text()
    let answered = 1
    let over = false
    const caller = async (turn: number) => {
      for (let call = turn; !over; call += 4) {
        const answer = await ask((tenants[call % tenants.length] ?? reseller).token, chat())
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('hello')])
        answered++
        await Bun.sleep(5)
      }
    }
    const callers = [0, 1, 2, 3].map(caller)
    const whose = tenants[0]?.token ?? ''
    /** Begins a batch where the organisation is. */
    const batch = async (cell: string, model: string, lines: number): Promise<string> => {
      const all = Array.from({ length: lines }, (_, n) => chatLine(n, {}, model))
      const input_file_id = await at(cell).upload(whose, all)
      const asked = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const
      return (
        await at(cell)
          .client(whose)
          .batches.create({ ...asked, input_file_id })
      ).id
    }
    // They are run over all moves, some before each.
    const ran = { lines: 0, most: 0 }
    const runOn = (most: number) => {
      ran.most = most
      for (const cell of ['a', 'b'])
        Object.assign(at(cell).gateway.options, { batchLinesOpen: ran.lines < most ? 4 : 0 })
    }
    for (const cell of ['a', 'b'])
      at(cell).answerWith(async ({ text }) => {
        if (text.includes('say ')) {
          ran.lines++
          runOn(ran.most)
          await Bun.sleep(20)
        }
        return completion('hello')
      })
    const { how, held } = vendors.openai
    how.ends = false
    const batches = [await batch('a', 'mock/small', LINES), await batch('a', partModels.openai, PART_LINES)]
    for (let round = 0; round < 10; round++) {
      const cell = round % 2 === 0 ? 'b' : 'a'
      const before = answered
      runOn(ran.lines + LINES_A_MOVE)
      await move(cell)
      // It is used there before it moves on.
      await until(() => answered > before + 4 && ran.lines >= ran.most)
      expect(await (await ask(reseller.token, chat(), repeated)).text()).toBe(first)
      const refused = await at(cell).post('/v1/chat/completions', chat(), {}, revoked.token)
      expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'key_disabled'])
      how.ends = round === 4
      // What its vendor took from one cell is fetched from another.
      if (how.ends) {
        const [, id = ''] = batches
        await until(async () => {
          const batch = await at(cell).store.batches.batchFor(id.slice('batch_'.length), tenants[0]?.id ?? '')
          return batch?.succeeded === PART_LINES
        })
        how.ends = false
        batches.push(await batch(cell, partModels.openai, PART_LINES))
      }
    }
    how.ends = true
    expect(ran.lines).toBeLessThan(LINES)
    runOn(Infinity)
    for (const [of, id] of batches.entries()) {
      const ended = await at('a').ended(whose, id)
      const lines = of === 0 ? LINES : PART_LINES
      expect(ended.request_counts).toEqual({ total: lines, completed: lines, failed: 0 })
      expect((await at('a').results(whose, ended.output_file_id)).size).toBe(lines)
    }
    // Nothing ran twice.
    expect(ran.lines).toBe(LINES)
    expect(held.map(({ lines }) => lines.length)).toEqual([PART_LINES, PART_LINES])
    over = true
    await Promise.all(callers)
    expect(told.has('421 moved')).toBe(true)
    const [longest, request] = [longestMs.call, longestMs.request].map(Math.round)
    console.info(
      `${answered} calls over ten moves; the longest waited ${longest} ms, the longest request ${request} ms`,
    )
    for (const cell of ['a', 'b']) await at(cell).heldAfterAll()
    const [here, there] = [
      await at('a').store.wallets.wallet(ORG.walletId),
      await at('b').store.wallets.wallet(ORG.walletId),
    ]
    const charged = BigInt(answered + LINES) * COST + 2n * BigInt(PART_LINES) * PART_LINE
    expect([here?.balance, there?.balance]).toEqual([FUND - charged, 0n])
    expect([here?.held, there?.held]).toEqual([0n, 0n])
    const revenue = await Promise.all(['a', 'b'].map((cell) => at(cell).store.ledger.balance('revenue')))
    expect(revenue.reduce((sum, one) => sum + one, 0n)).toBe(charged)
    // Both worked on them.
    expect(revenue.every((one) => one > 0n)).toBe(true)
    expect(await broken()).toEqual([])
    await stop()
    for (const database of databases) await database.stop()
  })

test('a stream that is open goes on to its end, and then it moves; one that does not end keeps it here', async () => {
  const databases = [await file.fresh(), await file.fresh()] as const
  const { at, ask, move, broken, stop } = await twoCells([databases[0].url, databases[1].url])
  const { token, id } = await at('a').newKey({}, ORG)
  const gate = Promise.withResolvers<void>()
  const pieces = streamEvents(['one', 'two'])
  at('a').answerWith(() => {
    let next = 0
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (next === 2) await gate.promise
        const piece = pieces[next++]
        if (piece === undefined) controller.close()
        else controller.enqueue(new TextEncoder().encode(piece))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  })
  const open = await ask(token, chat({ stream: true }))
  const reader = open.body?.getReader()
  await reader?.read()
  const late = await move('b', { waitMs: 300 }).catch((error: Error) => error.message)
  expect(late).toBe('its open calls did not end within 0.3 s: it stays, and its keys work again')
  const cell = async () => ((await at('a').gateway.book.callerById(id)) as { cell?: string }).cell
  // Else it would take the first move for the second.
  await until(async () => (await cell()) === undefined)
  const moving = move('b')
  // Until the process knows, it refuses at once: its lease is fenced.
  await until(async () => (await cell()) === 'leaving b')
  const beganMs = performance.now()
  const refused = await at('a').post('/v1/chat/completions', chat(), {}, token)
  expect([refused.status, (await jsonOf(refused)).error]).toEqual([
    503,
    expect.objectContaining({ code: 'moving', cell: 'b', retry_after: 1 }),
  ])
  // It was not refused at once.
  expect(performance.now() - beganMs).toBeGreaterThan(800)
  gate.resolve()
  let text = ''
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
    text += new TextDecoder().decode(read.value)
  expect(text).toContain('[DONE]')
  expect((await moving).rows.transfer).toBe(2)
  at('b').answerWith(() => completion('hello'))
  expect((await ask(token, chat())).status).toBe(200)
  await at('b').heldAfterAll()
  expect((await at('b').store.wallets.wallet(ORG.walletId))?.balance).toBe(FUND - 2n * COST)
  expect(await broken()).toEqual([])
  await stop()
  for (const database of databases) await database.stop()
})

test('what was answered while it moved is there: responses in the background, conversations, files', async () => {
  const databases = [await file.fresh(), await file.fresh()] as const
  const { at, move, broken, stop } = await twoCells([databases[0].url, databases[1].url])
  const { token, id } = await at('a').newKey({}, ORG)
  for (const cell of ['a', 'b']) Object.assign(at(cell).gateway.options, { responsesKeptMs: 3_600_000 })
  const gate = Promise.withResolvers<void>()
  let asked = 0
  at('a').answerWith(async () => {
    asked++
    await gate.promise
    return completion('hello')
  })
  const { responses } = clientOf(at('a'), token)
  const made = await Promise.all(
    Array.from({ length: 10 }, () =>
      responses.create({ model: 'mock/small', input: 'hi', background: true }),
    ),
  )
  await until(() => asked === made.length)
  // A file that comes slowly, and ends when its organisation is in the other cell.
  const [slow, began] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new File(['{}\n'.repeat(10_000)], 'slow.jsonl'))
  const whole = new Response(form)
  const bytes = await whole.bytes()
  let read = 0
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      controller.enqueue(bytes.subarray(read, read + 20_000))
      read += 20_000
      if (read < bytes.length) return
      began.resolve()
      await slow.promise
      controller.close()
    },
  })
  const upload = at('a').fetch(
    new Request('http://turnpike.test/v1/files', {
      ...{ method: 'POST', body, duplex: 'half' },
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': whole.headers.get('content-type') ?? '',
      },
    } as RequestInit),
  )
  await began.promise
  const conversations: string[] = []
  let over = false
  const talker = async () => {
    while (!over) {
      const answer = await at('a').post('/v1/conversations', {}, {}, token)
      if (answer.status === 200) conversations.push((await jsonOf(answer)).id)
      await Bun.sleep(1)
    }
  }
  const talkers = [0, 1, 2, 3].map(talker)
  const moving = move('b', {
    before: async (step) => {
      if (step !== 'finish') return
      slow.resolve()
      expect((await upload).status).toBe(503)
    },
  })
  await until(
    async () => ((await at('a').gateway.book.callerById(id)) as { cell?: string }).cell !== undefined,
  )
  gate.resolve()
  await moving
  over = true
  await Promise.all(talkers)
  const there = clientOf(at('b'), token)
  let completed = 0n
  for (const { id } of made) {
    const { status, error } = await there.responses.retrieve(id)
    // One whose intent came too late was not charged, and says so.
    if (status === 'completed') completed++
    else expect([status, String(error?.code)]).toEqual(['failed', 'moving'])
  }
  for (const id of conversations) expect((await there.conversations.retrieve(id)).id).toBe(id)
  expect((await at('b').store.wallets.wallet(ORG.walletId))?.balance).toBe(FUND - completed * COST)
  expect(await broken()).toEqual([])
  await stop()
  for (const database of databases) await database.stop()
})
