/**
 * Laws of translation: what a dialect writes, it reads back unchanged: whole, as a stream cut anywhere, and as a
 * request.
 */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { reply as anyReply, conversation } from '../../test/dialects/arbitraries.ts'
import { converseAnswer, converseStream, readConverseCall } from '../../test/dialects/converse.ts'
import {
  billed,
  context,
  replyFrom,
  type SharedDialectId,
  stepsOf,
  streamOf,
  type WrittenId,
} from '../../test/dialects/steps.ts'
import { testModel } from '../../test/server/harness.ts'
import type { JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { awsEventSplitter } from '../transport/aws-event-stream.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import { callerDialects, vendorDialects } from './index.ts'
import { interactionIdOf } from './interactions/names.ts'
import type { Choice, Conversation, Part, Piece, Reply, Turn } from './neutral.ts'
import { responseId } from './responses/reply.ts'
import { unsupportedIn } from './translate/unsupported.ts'
import type { Target } from './translate/vendor-call.ts'

const runs = { numRuns: 100 }

const dialects = ['chat', 'messages', 'gemini', 'responses', 'interactions', 'converse'] as const
const traits = { outputBound: 'max_tokens', takesStreamOptions: true } as const

/** The other side of each dialect: it reads what ours writes, and writes what ours reads. */
type Peer = {
  readonly whole: (reply: Omit<Reply, 'usage'>) => JsonObject
  readonly stream: (reply: Omit<Reply, 'usage'>, size: number) => Uint8Array
  readonly splitter: () => Pick<ReturnType<typeof eventSplitter>, 'feed'>
  readonly readCall: (body: JsonObject) => Conversation
}
const spoken = (dialect: SharedDialectId): Peer => {
  const { writeReply, streamWriter, readConversation } = callerDialects[dialect]
  return {
    whole: (reply) => writeReply({ ...reply, usage: billed.usage }, context()),
    stream: (reply, size) => streamOf(stepsOf(reply, size), streamWriter(context(), false)),
    splitter: eventSplitter,
    readCall: readConversation,
  }
}
// No caller speaks Converse: its other side is a vendor made for the tests.
const peers: Readonly<Record<WrittenId, Peer>> = {
  chat: spoken('chat'),
  messages: spoken('messages'),
  gemini: spoken('gemini'),
  responses: spoken('responses'),
  interactions: spoken('interactions'),
  converse: {
    whole: converseAnswer,
    stream: converseStream,
    splitter: awsEventSplitter,
    readCall: readConverseCall,
  },
}

/** What Converse cannot express: ids of answers, and signatures of other vendors. */
const ofConverse = (choice: Choice): Choice => ({
  ...choice,
  parts: choice.parts.map((part): Part => {
    if (part.type === 'thinking' && part.signature !== undefined)
      return { ...part, signature: { ...part.signature, origin: 'messages' } }
    if (part.type !== 'tool_call') return part
    const { signature: _signature, ...call } = part
    return call
  }),
})

/** What a dialect cannot express in an answer. */
const sayable = (reply: Omit<Reply, 'usage'>, dialect: WrittenId): Omit<Reply, 'usage'> => ({
  ...reply,
  ...(dialect === 'converse' ? { id: '', model: '' } : {}),
  ...(dialect === 'responses' ? { id: responseId(context()) } : {}),
  ...(dialect === 'interactions' ? { id: interactionIdOf(context().requestId) } : {}),
  choices: reply.choices.map((choice) => {
    if (dialect === 'converse') {
      const { stopSequence: _unsaid, ...whole } = ofConverse(choice)
      return whole
    }
    const { stopSequence: _stop, ...rest } = choice
    if (dialect === 'messages') return choice
    const calls = choice.parts.some(({ type }) => type === 'tool_call')
    return choice.finish === 'stop_sequence' ? { ...rest, finish: calls ? 'tool_calls' : 'stop' } : rest
  }),
})

/** In chat completions a message has one place for each kind of content. */
const inPlaces = (choice: Choice): Choice => {
  const of = (type: Part['type']) => choice.parts.filter((part) => part.type === type)
  const texts = of('text').map((part) => (part as { text: string }).text)
  const thinking = of('thinking')
  const unsigned = thinking.map((part) => (part as { text: string }).text).join('')
  const thoughts: readonly Part[] =
    unsigned === '' || thinking.some((part) => 'signature' in part)
      ? thinking
      : [{ type: 'thinking', text: unsigned }]
  return {
    ...choice,
    parts: [
      ...thoughts,
      ...(texts.length === 0 ? [] : [{ type: 'text' as const, text: texts.join('') }]),
      ...of('tool_call'),
    ],
  }
}

const readStream = (dialect: WrittenId, pieces: readonly Uint8Array[]) => {
  const read = vendorDialects[dialect].streamReader(() => 'new', traits)
  const splitter = peers[dialect].splitter()
  const steps: Piece[] = []
  for (const piece of pieces) for (const { data } of splitter.feed(piece)) steps.push(...read(data))
  const { ended, errors, ...reply } = replyFrom(steps)
  return { reply, ended, errors }
}

const single = (bytes: Uint8Array): readonly Uint8Array[] =>
  Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))

test.each(dialects)(
  '%s: an answer written as a stream and cut at every byte is read as it was',
  (dialect) => {
    fc.assert(
      fc.property(anyReply, fc.integer({ min: 1, max: 9 }), (reply, size) => {
        const bytes = peers[dialect].stream(reply, size)
        const read = readStream(dialect, single(bytes))
        // Streams of messages give the model under the caller's name.
        const model = dialect === 'messages' ? { model: context().modelName } : {}
        expect(read.reply).toEqual({ ...sayable(reply, dialect), ...model, usage: billed.usage })
        expect(read.errors).toBe(0)
        expect(read.ended).toBe(dialect !== 'gemini')
      }),
      runs,
    )
  },
)

test.each(dialects)('%s: a stream in two pieces is the same wherever it is cut', (dialect) => {
  const [reply] = fc.sample(
    anyReply.filter(({ choices }) => (choices[0]?.parts.length ?? 0) > 2),
    { numRuns: 1 },
  )
  if (reply === undefined) throw new Error('no reply')
  const bytes = peers[dialect].stream(reply, 4)
  const whole = readStream(dialect, [bytes])
  for (let at = 1; at < bytes.length; at++)
    expect(readStream(dialect, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole)
})

test('generate content as one JSON list says the same as its events', () => {
  fc.assert(
    fc.property(anyReply, (reply) => {
      const bytes = streamOf(stepsOf(reply), callerDialects.gemini.streamWriter(context(), true))
      const list: unknown = JSON.parse(new TextDecoder().decode(bytes))
      const read = vendorDialects.gemini.streamReader(() => 'new', traits)
      const steps = (list as object[]).flatMap((one) => read(JSON.stringify(one)))
      expect(replyFrom(steps).choices).toEqual(sayable(reply, 'gemini').choices)
    }),
    runs,
  )
})

test.each(dialects)('%s: an answer written in one piece is read as it was', (dialect) => {
  fc.assert(
    fc.property(anyReply, (reply) => {
      const value = JSON.parse(JSON.stringify(peers[dialect].whole(reply)))
      const expected = sayable(reply, dialect)
      const choices = dialect === 'chat' ? expected.choices.map(inPlaces) : expected.choices
      expect(vendorDialects[dialect].readReply(value, () => 'new')).toEqual({ ...expected, choices })
      expect(vendorDialects[dialect].usageOf(value, traits)).toEqual(billed.usage)
    }),
    runs,
  )
})

const upstreamNames = {
  chat: 'gpt-5',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-2.5-flash',
  responses: 'gpt-5.6',
  interactions: 'gemini-3.8-flash',
  converse: 'anthropic.claude-sonnet-4-5-v1:0',
} as const
const target = (dialect: WrittenId): Target => ({
  model: testModel('m', { upstreamName: upstreamNames[dialect], capabilities: ['reasoning'] }),
  quirks: traits,
  outputBound: undefined,
  stream: false,
})

/** Generate content has no ids for calls: their order tells them apart, and results name the tool. */
const withoutIds = (it: Conversation): Conversation => {
  const ids = new Map<string, string>()
  const part = (one: Part): Part => {
    if (one.type === 'tool_call') ids.set(one.id, `call ${ids.size}`)
    if (one.type !== 'tool_call' && one.type !== 'tool_result') return one
    const { name: _name, ...rest } = one
    return { ...(one.type === 'tool_call' ? one : rest), id: ids.get(one.id) ?? 'unknown' } as Part
  }
  return { ...it, turns: it.turns.map((turn) => ({ ...turn, parts: turn.parts.map(part) })) }
}

/** Chat completions: results are messages of their own, and an answer's texts are one text. */
const apartResults = (it: Conversation): Conversation => ({
  ...it,
  turns: it.turns.flatMap((turn): readonly Turn[] => {
    const results = turn.parts.filter(({ type }) => type === 'tool_result')
    const rest = turn.parts.filter(({ type }) => type !== 'tool_result')
    return [
      ...results.map((part): Turn => ({ role: 'user', parts: [part] })),
      ...(rest.length === 0 ? [] : [{ ...turn, parts: rest }]),
    ]
  }),
})

/** Interactions: results are steps of their own, and name their tool. */
const unnamedResults = (it: Conversation): Conversation => {
  const { turns, ...rest } = apartResults(it)
  const part = (one: Part): Part => {
    if (one.type !== 'tool_result') return one
    const { name: _name, ...result } = one
    return result
  }
  return { ...rest, turns: turns.map((turn) => ({ ...turn, parts: turn.parts.map(part) })) }
}

/** Responses: tools are strict unless they say otherwise. */
const strictIsSaid = (it: Conversation): Conversation => {
  const { tools, ...rest } = apartResults(it)
  return { ...rest, tools: tools.map((tool) => ({ ...tool, strict: tool.strict ?? false })) }
}

/** Members of a document that a dialect requires and the caller did not give. */
const unnamed = (it: Conversation): Conversation => ({
  ...it,
  turns: it.turns.map((turn) => ({
    ...turn,
    parts: turn.parts.map((part) => {
      if (part.type !== 'document') return part
      const { name: _name, ...rest } = part
      return rest
    }),
  })),
})

const asItIs = (it: Conversation) => it
const comparable = {
  chat: apartResults,
  messages: asItIs,
  gemini: withoutIds,
  responses: strictIsSaid,
  interactions: unnamedResults,
  converse: asItIs,
} as const

test.each(dialects)('%s: a conversation written for a vendor reads as it was', (dialect) => {
  fc.assert(
    fc.property(conversation(dialect), (it) => {
      const encoded = vendorDialects[dialect].writeCall(it, target(dialect))
      if (encoded instanceof Refusal) throw new Error(encoded.message)
      expect([...unsupportedIn(it, vendorDialects[dialect].unsupported), ...encoded.notCarried]).toEqual([])
      const body = JSON.parse(JSON.stringify(encoded.body))
      const read = peers[dialect].readCall(body)
      expect(unnamed(comparable[dialect](read))).toEqual(comparable[dialect](it))
    }),
    runs,
  )
})
