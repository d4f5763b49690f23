/**
 * Files of callers: in forms and raw, however they are cut; listed, read and deleted by their key and those above it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { serverEngines } from '../store/engines.ts'
import { ASSET_SETTINGS, type AssetServer, png, startAssetServer } from './asset-rig.ts'
import { jsonOf } from './harness.ts'

const HOUR = 3_600_000
const encoder = new TextEncoder()

type Field = readonly [name: string, value: string | Uint8Array, filename?: string]

const formOf = (fields: readonly Field[], boundary = 'XbX'): Uint8Array =>
  Buffer.concat([
    ...fields.flatMap(([name, value, filename]) => {
      const file = filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: image/png`
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`
      return [Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')]
    }),
    Buffer.from(`--${boundary}--\r\n`),
  ])

/** The bytes as a stream of pieces of this size. */
const cutBy = (bytes: Uint8Array, size: number): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + size))
      at += size
    },
  })
}

describe.each(serverEngines)('on $name', ({ fresh }) => {
  let database: { readonly url: string; readonly stop: () => Promise<void> }
  let server: AssetServer
  let key: { id: string; token: string }
  let nowMs = Date.now()

  beforeAll(async () => {
    database = await fresh()
    server = await startAssetServer({ url: database.url, now: () => nowMs })
  })
  beforeEach(async () => {
    key = await server.newKey()
  })
  afterAll(async () => {
    await server.stop()
    await database.stop()
  })

  const send = (
    body: Uint8Array | ReadableStream<Uint8Array>,
    { type = 'multipart/form-data; boundary=XbX', path = '/v1/files', token = key.token } = {},
  ): Promise<Response> =>
    server.fetch(
      new Request(`http://turnpike.test${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': type },
        body: body as never,
      }),
    )
  const stored = async () =>
    (await readdir(server.folder, { recursive: true })).filter((one) => one.length > 2)
  const upload = async (bytes: Uint8Array, more: readonly Field[] = [], token = key.token) =>
    jsonOf(await send(formOf([...more, ['file', bytes, 'a.png']]), { token }))

  test('a form is stored, answered in OpenAI’s shape, read back and deleted', async () => {
    const bytes = png(30, 20)
    const file = await jsonOf(
      await send(
        formOf([
          ['file', bytes, 'a "fox".png'.replaceAll('"', '%22')],
          ['purpose', 'vision'],
        ]),
      ),
    )
    expect(file).toEqual({
      id: expect.stringMatching(/^file-[0-9a-f]{32}$/),
      object: 'file',
      bytes: bytes.length,
      created_at: Math.floor(nowMs / 1000),
      expires_at: Math.floor((nowMs + 24 * HOUR) / 1000),
      filename: 'a "fox".png',
      purpose: 'vision',
      status: 'processed',
    })
    expect(await jsonOf(await server.get(`/v1/files/${file.id}`, key.token))).toEqual(file)
    const content = await server.get(`/v1/files/${file.id}/content`, key.token)
    expect(content.headers.get('content-type')).toBe('image/png')
    expect(Buffer.compare(Buffer.from(await content.bytes()), bytes)).toBe(0)
    const gone = await server.send('DELETE', `/v1/files/${file.id}`, undefined, key.token)
    expect(await jsonOf(gone)).toEqual({ id: file.id, object: 'file', deleted: true })
    expect((await server.get(`/v1/files/${file.id}`, key.token)).status).toBe(404)
  })

  test('however the body is cut, the bytes are the same', async () => {
    // Bytes that look like the boundary and are none.
    const bytes = Buffer.concat([png(3, 2), Buffer.from('\r\n--XbY\r\n--Xb\r\n\r\n--X'), png(1, 1)])
    const form = formOf([
      ['purpose', 'user_data'],
      ['file', bytes, 'a.png'],
    ])
    for (const size of [1, 2, 3, 7, 50, 1_000]) {
      const file = await jsonOf(await send(cutBy(form, size)))
      const content = await server.get(`/v1/files/${file.id}/content`, key.token)
      expect([size, Buffer.compare(Buffer.from(await content.bytes()), bytes)]).toEqual([size, 0])
    }
  })

  test('a form whose names have no quotes, as .NET writes them', async () => {
    const bytes = png(30, 20)
    const [head, foot] = [
      "--XbX\r\nContent-Disposition: form-data; name=file; filename=a.png; filename*=utf-8''a.png\r\n\r\n",
      '\r\n--XbX\r\nContent-Disposition: form-data; name=purpose\r\n\r\nvision\r\n--XbX--\r\n',
    ]
    const file = await jsonOf(await send(Buffer.concat([Buffer.from(head), bytes, Buffer.from(foot)])))
    expect([file.filename, file.purpose, file.bytes]).toEqual(['a.png', 'vision', bytes.length])
  })

  test('the body may be the file itself', async () => {
    const path = '/v1/files?filename=talk.mp3&purpose=user_data'
    const file = await jsonOf(await send(encoder.encode('ID3 sound'), { type: 'audio/mpeg', path }))
    expect(file).toMatchObject({ filename: 'talk.mp3', purpose: 'user_data', bytes: 9 })
    const json = await send(encoder.encode('{}'), { type: 'application/json' })
    expect([json.status, (await jsonOf(json)).error.code]).toEqual([415, 'unsupported_media_type'])
    const unbounded = await send(encoder.encode('--a'), { type: 'multipart/form-data' })
    expect([unbounded.status, (await jsonOf(unbounded)).error.message]).toEqual([
      415,
      expect.stringContaining('no boundary'),
    ])
  })

  test.each<[string, Uint8Array, number, string]>([
    ['without a file', formOf([['purpose', 'vision']]), 400, 'file'],
    [
      'with two files',
      formOf([
        ['file', 'a', 'a'],
        ['file', 'b', 'b'],
      ]),
      400,
      'file',
    ],
    ['with an empty file', formOf([['file', '', 'a']]), 400, 'file'],
    [
      'with a purpose that is no word',
      formOf([
        ['purpose', '../x'],
        ['file', 'a', 'a'],
      ]),
      400,
      'purpose',
    ],
    [
      'with a purpose behind the file that is no word',
      formOf([
        ['file', 'a', 'a'],
        ['purpose', 'A B'],
      ]),
      400,
      'purpose',
    ],
    ['cut off', formOf([['file', 'abc', 'a']]).slice(0, -9), 400, 'body'],
    ['without its boundary', encoder.encode('abc'), 400, 'body'],
    ['with another boundary', formOf([['file', 'abc', 'a']], 'other'), 400, 'body'],
    [
      'of 10,000 parts',
      formOf(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, 'x'] as const)),
      400,
      'body',
    ],
    [
      'with a head without end',
      Buffer.concat([Buffer.from('--XbX\r\n'), Buffer.alloc(100_000, 'a')]),
      400,
      'body',
    ],
    ['that is too large', formOf([['file', Buffer.alloc(5_000_001), 'a']]), 413, ''],
  ])('a form %s is refused and leaves nothing', async (_what, form, status, param) => {
    const before = (await stored()).length
    const response = await send(cutBy(form, 60_000))
    const { error } = await jsonOf(response)
    expect([response.status, error.param ?? '']).toEqual([status, param])
    expect((await stored()).length).toBe(before)
    expect(await jsonOf(await server.get('/v1/files', key.token))).toMatchObject({ data: [] })
  })

  test('a list is paged, newest first or last, of the key and those below it', async () => {
    const child = await server.newKey({}, { parentId: key.id })
    const ids: string[] = []
    for (const [purpose, token] of [
      ['vision', key.token],
      ['batch', child.token],
      ['vision', key.token],
    ] as const) {
      nowMs += 1_000
      ids.push((await upload(png(1, 1), [['purpose', purpose]], token)).id)
    }
    const list = async (query: string, token = key.token) => {
      const page = await jsonOf(await server.get(`/v1/files${query}`, token))
      return [page.data.map(({ id }: { id: string }) => ids.indexOf(id)), page.has_more]
    }
    expect(await list('')).toEqual([[2, 1, 0], false])
    expect(await list('', child.token)).toEqual([[1], false])
    expect(await list('?purpose=vision&order=asc')).toEqual([[0, 2], false])
    expect(await list('?limit=2')).toEqual([[2, 1], true])
    expect(await list(`?limit=2&after=${ids[1]}`)).toEqual([[0], false])
    for (const [query, param] of [
      ['?limit=0', 'limit'],
      ['?order=up', 'order'],
      ['?after=x', 'after'],
      ['?a=b', 'a'],
    ] as const)
      expect((await jsonOf(await server.get(`/v1/files${query}`, key.token))).error.param).toBe(param)
  })

  test('a page after a file that was deleted goes on from it, and is refused once nobody knows where it stood', async () => {
    const ids: string[] = []
    for (let file = 0; file < 3; file++) {
      nowMs += 1_000
      ids.unshift((await upload(png(1, 1))).id)
    }
    const [newest, ...others] = ids
    await server.send('DELETE', `/v1/files/${newest}`, undefined, key.token)
    const page = async (name: string, headers: Record<string, string> = {}) => {
      const request = new Request(`http://turnpike.test/v1/files?${name}=${newest}`, {
        headers: { authorization: `Bearer ${key.token}`, ...headers },
      })
      return jsonOf(await server.fetch(request))
    }
    expect((await page('after')).data.map(({ id }: { id: string }) => id)).toEqual(others)
    await server.assets.sweep()
    expect((await page('after')).error).toMatchObject({ code: 'invalid_parameter', param: 'after' })
    const ofMessages = await page('after_id', { 'anthropic-version': '2023-06-01' })
    expect(ofMessages.error).toMatchObject({ type: 'invalid_request_error' })
    const google = await server.fetch(
      new Request(`http://turnpike.test/v1beta/files?pageToken=${newest}`, {
        headers: { 'x-goog-api-key': key.token },
      }),
    )
    expect([google.status, (await jsonOf(google)).error.status]).toEqual([400, 'INVALID_ARGUMENT'])
    // The last page has no files, and its cursor is there.
    expect((await jsonOf(await server.get(`/v1/files?after=${others.at(-1)}`, key.token))).data).toEqual([])
  })

  test('others’ files are not there, like those that never were', async () => {
    const file = await upload(png(1, 1))
    const child = await server.newKey({}, { parentId: key.id })
    const other = await server.newKey()
    const never = `file-${'0'.repeat(32)}`
    for (const token of [child.token, other.token])
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/content'],
        ['DELETE', ''],
      ] as const) {
        const theirs = await server.send(method, `/v1/files/${file.id}${path}`, undefined, token)
        const nobodys = await server.send(method, `/v1/files/${never}${path}`, undefined, token)
        expect([theirs.status, (await jsonOf(theirs)).error.message]).toEqual([
          404,
          (await jsonOf(nobodys)).error.message,
        ])
      }
    for (const id of ['..%2f..%2fetc%2fpasswd', `${file.id}%00`, file.id.toUpperCase(), file.id.slice(5)])
      expect([400, 404]).toContain((await server.get(`/v1/files/${id}`, key.token)).status)
    expect((await server.send('GET', '/v1/files', undefined, '')).status).toBe(401)
  })

  test('a file ends when its time is over, which its caller may shorten', async () => {
    const day = await upload(png(1, 1))
    const hour = await upload(png(1, 1), [
      ['expires_after[anchor]', 'created_at'],
      ['expires_after[seconds]', '3600'],
    ])
    expect(hour.expires_at - hour.created_at).toBe(3_600)
    const month = await upload(png(1, 1), [['expires_after[seconds]', '2592000']])
    expect(month.expires_at - month.created_at).toBe(86_400)
    nowMs += HOUR
    expect((await server.get(`/v1/files/${hour.id}`, key.token)).status).toBe(404)
    expect((await server.get(`/v1/files/${day.id}`, key.token)).status).toBe(200)
    expect(await server.assets.sweep()).toBeGreaterThan(0)
  })

  test('a key keeps so many bytes, and all keys half of what may be stored', async () => {
    const bytes = Buffer.alloc(4_900_000, 1)
    for (let at = 0; at < 3; at++) await upload(bytes)
    const full = await send(formOf([['file', bytes, 'a']]))
    expect([full.status, (await jsonOf(full)).error.code]).toEqual([429, 'rate_limit_exceeded'])
    const { data } = await jsonOf(await server.get('/v1/files', key.token))
    await server.send('DELETE', `/v1/files/${data[0].id}`, undefined, key.token)
    expect((await send(formOf([['file', bytes, 'a']]))).status).toBe(200)
    const small = await startAssetServer({ change: { settings: { ...ASSET_SETTINGS, bytesMax: 100 } } })
    const [one, two] = [await small.newKey(), await small.newKey()]
    const file = formOf([['file', Buffer.alloc(60, 1), 'a']])
    const to = (token: string) =>
      small.fetch(
        new Request('http://turnpike.test/v1/files', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=XbX' },
          body: file,
        }),
      )
    expect([(await to(one.token)).status, (await to(two.token)).status]).toEqual([200, 429])
    await small.stop()
  })

  test('files that come at once take no more room than those that come one after the other', async () => {
    const form = formOf([['file', Buffer.alloc(4_900_000, 1), 'a']])
    const answers = await Promise.all(Array.from({ length: 6 }, () => send(form)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429])
    const { data } = await jsonOf(await server.get('/v1/files', key.token))
    expect(data).toHaveLength(3)
  })

  test('parts of an upload count in what a key keeps, and are no files before they are joined', async () => {
    const ask = async (path: string, body: object) =>
      jsonOf(await server.send('POST', `/v1/uploads${path}`, body, key.token))
    const whole = Buffer.alloc(4_900_000, 1)
    const said = { filename: 'a.jsonl', purpose: 'user_data', mime_type: 'text/plain' }
    const { id } = await ask('', { ...said, bytes: whole.length })
    const part = () => send(formOf([['data', whole, 'a']]), { path: `/v1/uploads/${id}/parts` })
    const parts: string[] = []
    for (let at = 0; at < 3; at++) parts.push((await jsonOf(await part())).id)
    const full = await part()
    expect([full.status, (await jsonOf(full)).error.code]).toEqual([429, 'rate_limit_exceeded'])
    const listed = async (path: string) => jsonOf(await server.get(path, key.token))
    expect((await listed('/v1/files')).data).toEqual([])
    const google = await server.fetch(
      new Request('http://turnpike.test/v1beta/files', { headers: { 'x-goog-api-key': key.token } }),
    )
    expect(await jsonOf(google)).toEqual({ files: [] })
    // Parts that are there can be joined: they end then.
    const joined = await ask(`/${id}/complete`, { part_ids: [parts[0]] })
    expect(joined).toMatchObject({ status: 'completed', file: { bytes: whole.length } })
    await server.send('DELETE', `/v1/files/${joined.file.id}`, undefined, key.token)
    expect((await ask(`/${id}/cancel`, {})).status).toBe('cancelled')
    const [one, two] = [await ask('', { ...said, bytes: 3 }), Buffer.from('abc')]
    const sent = await send(formOf([['data', two, 'a']]), { path: `/v1/uploads/${one.id}/parts` })
    const done = await ask(`/${one.id}/complete`, { part_ids: [(await jsonOf(sent)).id] })
    expect(done).toMatchObject({ status: 'completed', file: { bytes: 3, filename: 'a.jsonl' } })
    expect((await listed('/v1/files')).data).toEqual([done.file])
    const wrong = await send(
      formOf([
        ['purpose', 'part_of'],
        ['file', two, 'a'],
      ]),
    )
    expect([wrong.status, (await jsonOf(wrong)).error.param]).toEqual([400, 'purpose'])
    // Nor are parts listed as files by who names theirs.
    const left = await ask('', { ...said, bytes: 3 })
    await send(formOf([['data', two, 'a']]), { path: `/v1/uploads/${left.id}/parts` })
    const session = left.id.split('_')[1]
    const asked = await server.get(`/v1/files?purpose=part_${session}`, key.token)
    expect([asked.status, (await jsonOf(asked)).error?.param]).toEqual([400, 'purpose'])
  })

  test('a file of parts is whole, or is none', async () => {
    const ask = (path: string, body: object) => server.send('POST', `/v1/uploads${path}`, body, key.token)
    const said = { filename: 'a.jsonl', purpose: 'user_data', mime_type: 'text/plain', bytes: 6 }
    const { id } = await jsonOf(await ask('', said))
    const ids: string[] = []
    for (const data of ['abc', 'def']) {
      const sent = await send(formOf([['data', data, 'a']]), { path: `/v1/uploads/${id}/parts` })
      ids.push((await jsonOf(sent)).id)
    }
    // What ends the parts while they are joined: another request for the same, or their time.
    const [gone] = (await stored()).filter((one) => one.endsWith(ids[1]?.slice(-32) ?? ''))
    await rm(join(server.folder, gone ?? ''))
    expect((await ask(`/${id}/complete`, { part_ids: ids })).status).toBe(503)
    expect((await jsonOf(await server.get('/v1/files', key.token))).data).toEqual([])
  })

  test('bytes that a client sends again while they are being stored are in the file once', async () => {
    const post = (path: string, command: string, body: string, offset = 0) =>
      server.fetch(
        new Request(`http://turnpike.test${path}`, {
          method: 'POST',
          headers: {
            'x-goog-api-key': key.token,
            'x-goog-upload-command': command,
            'x-goog-upload-offset': String(offset),
            'content-type': 'application/json',
          },
          body,
        }),
      )
    const begun = await post('/upload/v1beta/files', 'start', '{"file":{"displayName":"a"}}')
    const { pathname } = new URL(begun.headers.get('x-goog-upload-url') ?? '')
    await Promise.all([post(pathname, 'upload', 'abc'), post(pathname, 'upload', 'abc')])
    const asked = await post(pathname, 'query', '')
    expect(asked.headers.get('x-goog-upload-size-received')).toBe('3')
    const { file } = await jsonOf(await post(pathname, 'upload, finalize', 'def', 3))
    expect(file.sizeBytes).toBe('6')
    const { data } = await jsonOf(await server.get('/v1/files', key.token))
    const content = await server.get(`/v1/files/${data[0].id}/content`, key.token)
    expect(await content.text()).toBe('abcdef')
  })
})
