/** Random answers and conversations, each within what a dialect can express. */
import fc from 'fast-check'
import type { Choice, Conversation, Part, Reply, Turn } from '../../src/dialects/neutral.ts'
import type { Signature, SignatureOrigin } from '../../src/dialects/translate/signatures.ts'
import type { WrittenId } from './steps.ts'

/** Texts with everything that may break framing and escaping. */
const text = fc
  .array(
    fc.constantFrom(
      'a',
      ' ',
      '\n',
      '\r\n',
      '"',
      '\\',
      'é',
      '日本',
      '\u2028',
      '🧭',
      'data: ',
      '\n\n',
      '[DONE]',
      '{}',
    ),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((words) => words.join(''))
/** With a letter at each end, for places where blank texts or blank edges have no meaning. */
const said = text.map((words) => `a${words}b`)
const word = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9-]{0,12}$/)
const toolArguments = fc
  .dictionary(
    word,
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 2 })),
    {
      maxKeys: 3,
    },
  )
  .map((value) => JSON.stringify(value))
const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('base64'))

const signature = (...origins: readonly SignatureOrigin[]): fc.Arbitrary<Signature> =>
  fc.record({ origin: fc.constantFrom(...origins), value: fc.oneof(base64, word) })

const thinking = (signatures: fc.Arbitrary<Signature>): fc.Arbitrary<Part> =>
  fc.oneof(
    fc.record({ type: fc.constant('thinking' as const), text, signature: signatures }),
    fc.record({
      type: fc.constant('thinking' as const),
      text: fc.constant(''),
      signature: signatures,
      redacted: fc.constant(true as const),
    }),
  )

const toolCall = fc
  .record({
    name: word,
    arguments: toolArguments,
    signature: fc.option(signature('gemini'), { nil: undefined }),
  })
  .map(
    ({ signature: own, ...call }): Part => ({
      type: 'tool_call',
      id: '',
      ...call,
      ...(own === undefined ? {} : { signature: own }),
    }),
  )

const numbered = (parts: readonly Part[], prefix: string): readonly Part[] =>
  parts.map((part, at) => (part.type === 'tool_call' ? { ...part, id: `${prefix}_${at}` } : part))

/** No two neighbours that some dialect would join. */
const apart = (parts: readonly Part[]): readonly Part[] =>
  parts.filter((part, at) => {
    const before = parts[at - 1]
    return part.type === 'tool_call' || before === undefined || before.type !== part.type
  })

/** Any answer: thoughts, text and calls in any order. A signature of its own without a text stands alone. */
export const reply: fc.Arbitrary<Omit<Reply, 'usage'>> = fc
  .record({
    parts: fc.array(
      fc.oneof(
        thinking(signature('messages', 'gemini', 'chat')),
        fc.record({ type: fc.constant('thinking' as const), text }),
        fc.record({ type: fc.constant('text' as const), text }),
        toolCall,
      ),
      { maxLength: 5 },
    ),
    finish: fc.constantFrom('stop', 'length', 'content_filter', 'stop_sequence'),
    id: word,
    model: word,
  })
  .map(({ parts: raw, finish, id, model }) => {
    const parts = numbered(apart(raw), 'call')
    const calls = parts.some(({ type }) => type === 'tool_call')
    const choice: Choice = {
      parts,
      finish: finish === 'stop' && calls ? 'tool_calls' : finish,
      ...(finish === 'stop_sequence' ? { stopSequence: 'END' } : {}),
    }
    return { id, model, choices: [choice] }
  })

const image: fc.Arbitrary<Part> = base64.map((data) => ({
  type: 'image',
  media: { mediaType: 'image/png', data },
}))
const pdf: fc.Arbitrary<Part> = base64.map((data) => ({
  type: 'document',
  media: { mediaType: 'application/pdf', data },
}))
const saying: fc.Arbitrary<Part> = said.map((one) => ({ type: 'text', text: one }))

/** A turn of the assistant: its thoughts are the vendor's own. */
const answered = (dialect: WrittenId): fc.Arbitrary<readonly Part[]> => {
  const own =
    dialect === 'gemini' || dialect === 'interactions'
      ? toolCall
      : toolCall.map((part) => ({ ...part, signature: undefined }) as unknown as Part)
  return fc
    .record({
      thoughts:
        dialect === 'chat'
          ? fc.constant([])
          : fc.array(
              thinking(
                signature(
                  dialect === 'converse' ? 'messages' : dialect === 'interactions' ? 'gemini' : dialect,
                ),
              ),
              { maxLength: 1 },
            ),
      says: fc.array(saying, { minLength: 1, maxLength: 1 }),
      calls: fc.array(own, { maxLength: 3 }),
    })
    .map(({ thoughts, says, calls }) =>
      [...thoughts, ...says, ...calls].map((part) => JSON.parse(JSON.stringify(part)) as Part),
    )
}

/** The user's next turn: the results of all open calls, then the user's text. */
const heard = (
  calls: readonly Part[],
  results: readonly { readonly text: string; readonly failed: boolean }[],
  parts: readonly Part[],
): readonly Part[] => [
  ...calls.flatMap((call, at): Part[] => {
    const result = results[at % results.length]
    return call.type !== 'tool_call' || result === undefined
      ? []
      : [
          {
            type: 'tool_result',
            id: call.id,
            parts: [{ type: 'text', text: result.text }],
            ...(result.failed ? { failed: true } : {}),
          },
        ]
  }),
  ...parts,
]

const turns = (dialect: WrittenId): fc.Arbitrary<readonly Turn[]> =>
  fc
    .record({
      system: fc.option(said, { nil: undefined }),
      rounds: fc.array(
        fc.record({
          media: fc.array(fc.oneof(image, pdf), { maxLength: 2 }),
          says: saying,
          answer: answered(dialect),
          results: fc.array(
            fc.record({ text: said, failed: openai(dialect) ? fc.constant(false) : fc.boolean() }),
            { minLength: 1, maxLength: 2 },
          ),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      last: saying,
    })
    .map(({ system, rounds, last }) => {
      const list: Turn[] =
        system === undefined ? [] : [{ role: 'system', parts: [{ type: 'text', text: system }] }]
      let open: readonly Part[] = []
      let results: readonly { readonly text: string; readonly failed: boolean }[] = []
      for (const [at, round] of rounds.entries()) {
        list.push({ role: 'user', parts: heard(open, results, [...round.media, round.says]) })
        const answer = numbered(round.answer, `call_${at}`)
        open = answer.filter(({ type }) => type === 'tool_call')
        results = round.results
        list.push({ role: 'assistant', parts: answer })
      }
      list.push({ role: 'user', parts: heard(open, results, [last]) })
      return list
    })

const tool = fc.record(
  {
    name: word,
    description: said,
    parameters: fc.constantFrom(
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      { type: 'object', properties: {}, additionalProperties: false },
    ),
  },
  { requiredKeys: ['name', 'parameters'] },
)

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

/** OpenAI's dialects: an effort and no budget, and results that do not fail. */
const openai = (dialect: WrittenId): boolean => dialect === 'chat' || dialect === 'responses'

/** A conversation of only what the dialect can carry. */
export const conversation = (dialect: WrittenId): fc.Arbitrary<Conversation> =>
  fc
    .record({
      turns: turns(dialect),
      tools: fc.uniqueArray(tool, { maxLength: 2, selector: ({ name }) => name }),
      choice: fc.constantFrom('auto', 'none', 'required', 'named', undefined),
      parallel: optional(fc.boolean()),
      temperature: optional(fc.constantFrom(0, 0.5, 1)),
      topP: optional(fc.constantFrom(0.1, 0.9)),
      topK: optional(fc.integer({ min: 1, max: 40 })),
      stop: fc.array(said, { maxLength: 2 }),
      maxOutput: fc.integer({ min: 2_000, max: 8_000 }),
      seed: optional(fc.integer({ min: 0, max: 1_000 })),
      penalty: optional(fc.constantFrom(-1, 0.5)),
      schema: optional(
        fc.constant({
          type: 'object',
          properties: { a: { type: 'integer' } },
          required: ['a'],
          additionalProperties: false,
        }),
      ),
      budget: optional(fc.integer({ min: 1_024, max: 1_900 })),
      effort: fc.constantFrom('low', 'medium', 'high', undefined),
      user: optional(word),
      choices: fc.integer({ min: 1, max: 3 }),
    })
    .map((it) => {
      const converse = dialect === 'converse'
      const used = it.turns.some(({ parts }) => parts.some(({ type }) => type === 'tool_call'))
      // Tools that were used must be declared there.
      const tools = converse && used && it.tools.length === 0 ? [{ name: 'used', parameters: {} }] : it.tools
      const named = tools[0]?.name
      // Converse cannot leave a choice open or ask for no call.
      const unsaid = converse && (it.choice === 'auto' || it.choice === 'none')
      const toolChoice =
        tools.length === 0 || it.choice === undefined || unsaid
          ? undefined
          : it.choice === 'named'
            ? { type: it.choice, name: named ?? '' }
            : { type: it.choice }
      const forced = toolChoice?.type === 'required' || toolChoice?.type === 'named'
      const messages = dialect === 'messages'
      const anthropic = messages || converse
      // In a tool loop the vendor thinks on only if its thoughts come back.
      const answer = it.turns.at(-2)?.parts ?? []
      const loops = answer.some(({ type }) => type === 'tool_call')
      const barred = anthropic && (forced || (loops && !answer.some(({ type }) => type === 'thinking')))
      const interactions = dialect === 'interactions'
      const budget = openai(dialect) || interactions || barred ? undefined : it.budget
      // Models that are called in responses reason, and choose their sampling.
      const responses = dialect === 'responses'
      const thinks = (anthropic && budget !== undefined) || responses
      const whole = {
        turns: it.turns,
        tools,
        toolChoice,
        parallelTools:
          it.tools.length === 0 || dialect === 'gemini' || interactions || converse
            ? undefined
            : messages
              ? it.parallel === false && toolChoice !== undefined && toolChoice.type !== 'none'
                ? false
                : undefined
              : it.parallel,
        format:
          it.schema === undefined || converse
            ? undefined
            : { type: 'schema' as const, name: 'answer', schema: it.schema, strict: messages },
        reasoning:
          openai(dialect) || interactions
            ? it.effort === undefined
              ? undefined
              : { effort: it.effort as 'low', show: true }
            : budget === undefined
              ? undefined
              : { budget, show: true },
        stop: responses ? [] : it.stop,
        choices: anthropic || responses || interactions ? 1 : it.choices,
        maxOutput: it.maxOutput,
        temperature: thinks ? undefined : it.temperature,
        topP: thinks || (messages && it.temperature !== undefined) ? undefined : it.topP,
        topK: openai(dialect) || interactions || converse || thinks ? undefined : it.topK,
        seed: anthropic || responses ? undefined : it.seed,
        presencePenalty: anthropic || responses || interactions ? undefined : it.penalty,
        frequencyPenalty: anthropic || responses || interactions ? undefined : it.penalty,
        user: dialect === 'gemini' || interactions || converse ? undefined : it.user,
        ignored: [],
        unknownContent: [],
      }
      return Object.fromEntries(
        Object.entries(whole).filter(([, value]) => value !== undefined),
      ) as unknown as Conversation
    })
