/**
 * Vendors' answers as bytes, each read through the codec of its dialect however the bytes are cut, and passed on
 * untouched to callers of the same dialect. `WIRE_RECORDINGS=<folder>` also reads a folder of recordings: their text,
 * end and usage are compared with what a simple reader finds in them.
 */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Choice, recordingsIn, simply } from '../../test/dialects/recordings.ts'
import { context } from '../../test/dialects/steps.ts'
import { type JsonObject, parseJson } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import { vendors } from '../vendors/index.ts'
import type { VendorTraits } from './dialect.ts'
import { vendorDialects } from './index.ts'
import type { Piece } from './neutral.ts'

type Expected = {
  readonly file: string
  readonly text?: string
  readonly thinking?: string
  readonly tools?: readonly (readonly [name: string, args: object])[]
  readonly finish: string
  readonly usage: Usage
}

const folder = resolve(import.meta.dir, '../../test/fixtures/wire')
const expected: readonly Expected[] = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
const plain: VendorTraits = { outputBound: 'max_tokens', takesStreamOptions: true }
type WireDialect = 'chat' | 'messages' | 'gemini' | 'responses' | 'interactions'
const spokenIn = (file: string) => file.split('/')[0] as WireDialect

const readWhole = (dialect: WireDialect, bytes: Uint8Array, traits = plain): Choice => {
  const value = parseJson(new TextDecoder().decode(bytes)) as JsonObject
  const vendor = vendorDialects[dialect]
  const [choice] = vendor.readReply(value, () => 'new')?.choices ?? []
  const textOf = (type: 'text' | 'thinking') =>
    (choice?.parts ?? []).map((part) => (part.type === type ? part.text : '')).join('')
  return {
    text: textOf('text'),
    thinking: textOf('thinking'),
    tools: (choice?.parts ?? []).flatMap((part) =>
      part.type === 'tool_call' ? [[part.name, parseJson(part.arguments) as object] as const] : [],
    ),
    finish: choice?.finish,
    usage: vendor.usageOf(value, traits),
  }
}

const eventsIn = (pieces: readonly Uint8Array[]) => {
  const splitter = eventSplitter()
  const events = pieces.flatMap((piece) => splitter.feed(piece))
  const rest = splitter.remainder()
  return rest === undefined ? events : [...events, rest]
}

const readStream = (dialect: WireDialect, pieces: readonly Uint8Array[], traits = plain): Choice => {
  const read = vendorDialects[dialect].streamReader(() => 'new', traits)
  const all: Piece[] = eventsIn(pieces).flatMap(({ data }) =>
    data === '' || data === '[DONE]' ? [] : read(data),
  )
  const joined = (type: 'text' | 'thinking') =>
    all.map((piece) => (piece.type === type && piece.choice === 0 ? piece.text : '')).join('')
  const tools = all.flatMap((piece) =>
    piece.type === 'tool' && piece.choice === 0
      ? [
          [
            piece.name,
            parseJson(
              all
                .map((each) =>
                  each.type === 'arguments' && each.choice === 0 && each.index === piece.index
                    ? each.text
                    : '',
                )
                .join('') || '{}',
            ) as object,
          ] as const,
        ]
      : [],
  )
  return {
    text: joined('text'),
    thinking: joined('thinking'),
    tools,
    finish: all.findLast((piece) => piece.type === 'finish')?.finish,
    usage: all.findLast((piece) => piece.type === 'usage')?.usage,
  }
}

const cutEvery = (bytes: Uint8Array, length: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_none, at) =>
    bytes.subarray(at * length, (at + 1) * length),
  )

for (const { file, text = '', thinking = '', tools = [], finish, usage } of expected) {
  const bytes = new Uint8Array(readFileSync(join(folder, file)))
  const dialect = spokenIn(file)
  const what: Choice = { text, thinking, tools, finish: finish as never, usage }

  if (file.endsWith('.json')) {
    test(`${file} is read`, () => expect(readWhole(dialect, bytes)).toEqual(what))
    continue
  }

  test(`${file} is read, however it is cut`, () => {
    for (const length of [bytes.length, 1, 2, 3, 7, 64, 1_000])
      expect(readStream(dialect, cutEvery(bytes, length))).toEqual(what)
  })

  test(`${file} passes as it came; its usage is read and reported at the end`, () => {
    const relay = vendorDialects[dialect].pass?.relay(plain, false, 'm', () => context())
    if (relay === undefined) throw new Error('no caller speaks it')
    const events = eventsIn([bytes])
    const passed = events.filter((event) => relay.follow(event) === event.bytes)
    // Only events with usage, the model or the end are changed or held back; the answer itself never is.
    const others = events.filter((event) => !passed.includes(event))
    const left = readStream(
      dialect,
      others.map((event) => event.bytes),
    )
    expect([left.thinking, dialect === 'gemini' ? '' : left.text]).toEqual(['', ''])
    expect(passed.length).toBeGreaterThan(1)
    expect(relay.progress.finished).toBe(true)
    expect(relay.usage()).toEqual(usage)
  })
}

const recordings = process.env.WIRE_RECORDINGS
if (recordings !== undefined && existsSync(recordings))
  for (const { id, vendor, dialect, stream, bytes } of recordingsIn(recordings))
    test(`the recording ${id} is read as a simple reader reads it`, () => {
      const own = vendors.find((one) => one.id === vendor) ?? plain
      const found = stream ? readStream(dialect, [bytes], own) : readWhole(dialect, bytes, own)
      const values = stream
        ? eventsIn([bytes]).flatMap(({ data }) => (parseJson(data) as JsonObject | undefined) ?? [])
        : [parseJson(new TextDecoder().decode(bytes)) as JsonObject]
      const { text, names, input } = simply(dialect, values)
      expect({ text: found.text, names: found.tools.map(([name]) => name) }).toEqual({ text, names })
      if (input !== undefined) expect(inputOf(found.usage)).toBe(input)
    })

const inputOf = (usage: Usage | undefined): number =>
  [
    'input',
    'cache_read',
    'cache_write',
    'cache_write_1h',
    'input_audio',
    'cache_read_audio',
    'input_image',
  ].reduce((sum, name) => sum + (usage?.[name as keyof Usage] ?? 0), 0)
