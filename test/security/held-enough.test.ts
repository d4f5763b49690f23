/**
 * What the vendor bills is held, or refused before the vendor is asked: a caller who finds a way to be billed more than
 * was held spends the house's money. The vendor here bills the worst it may, and the wallet must pay all of it.
 */
import { expect, test } from 'bun:test'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { messageItem, response } from '../dialects/responses-vendor.ts'
import { startTestServer, type TestServer, testModel } from '../server/harness.ts'

type Speaks = NonNullable<Vendor['speaks']>

/** As many tokens as the model takes: a document, a film or an address may contain that many. */
const WORST = 90_000

const answers: Readonly<Record<Exclude<Speaks, 'converse'>, () => Response>> = {
  chat: () =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: WORST, completion_tokens: 1, total_tokens: WORST + 1 },
    }),
  messages: () =>
    Response.json({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: WORST, output_tokens: 1 },
    }),
  gemini: () =>
    Response.json({
      candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: WORST, candidatesTokenCount: 1 },
    }),
  interactions: () =>
    Response.json({
      id: '',
      status: 'completed',
      steps: [{ type: 'model_output', content: [{ type: 'text', text: 'x' }] }],
      usage: { total_input_tokens: WORST, total_output_tokens: 1 },
    }),
  responses: () =>
    Response.json(
      response([messageItem('x')], {
        usage: { input_tokens: WORST, output_tokens: 1, total_tokens: WORST + 1 },
      }),
    ),
}

const serve = async (speaks: Exclude<Speaks, 'converse'>): Promise<TestServer> => {
  const server = await startTestServer({
    vendor: { speaks },
    models: [testModel('small', { capabilities: ['streaming', 'function_calling', 'vision', 'reasoning'] })],
  })
  server.answerWith(answers[speaks])
  return server
}

const data = Buffer.from('%PDF-1.7 few bytes, many pages').toString('base64')
const model = 'mock/small'
const chatOf = (part: object, more: object = {}) => ({
  model,
  max_tokens: 5,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }, part] }],
  ...more,
})
const messageOf = (block: object, more: object = {}) => ({
  model,
  max_tokens: 5,
  messages: [{ role: 'user', content: [block] }],
  ...more,
})
const partOf = (part: object, more: object = {}) => ({
  contents: [{ role: 'user', parts: [part] }],
  generationConfig: { maxOutputTokens: 5 },
  ...more,
})
const itemOf = (part: object) => ({
  model,
  max_output_tokens: 5,
  input: [{ type: 'message', role: 'user', content: [part] }],
})
const chatPath = '/v1/chat/completions'
const geminiPath = '/v1beta/models/mock/small:generateContent'

const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const inline = (mimeType: string) => ({ inlineData: { mimeType, data } })

type Case = readonly [what: string, speaks: Exclude<Speaks, 'converse'>, path: string, body: unknown]

const cases: readonly Case[] = [
  [
    'a film by its address',
    'chat',
    chatPath,
    chatOf({ type: 'video_url', video_url: { url: 'https://a.b/c' } }),
  ],
  [
    'a document by its address',
    'chat',
    chatPath,
    chatOf({ type: 'document_url', document_url: 'https://a.b/c' }),
  ],
  ['a file that is stored', 'chat', chatPath, chatOf({ type: 'file', file: { file_id: 'file-1' } })],
  [
    'a PDF',
    'chat',
    chatPath,
    chatOf({ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` } }),
  ],
  ['a PDF as a picture', 'gemini', chatPath, chatOf(image(`data:application/pdf;base64,${data}`))],
  ['a film as a picture', 'gemini', chatPath, chatOf(image(`data:video/mp4;base64,${data}`))],
  ['a film site as a picture', 'gemini', chatPath, chatOf(image('https://www.youtube.com/watch?v=1'))],
  ['its short name', 'gemini', chatPath, chatOf(image('https://youtu.be/1'))],
  ['a PDF as a picture by its address', 'gemini', chatPath, chatOf(image('https://a.b/c.pdf'))],
  [
    'sound in which silence costs nothing',
    'gemini',
    chatPath,
    chatOf({ type: 'input_audio', input_audio: { format: 'flac', data } }),
  ],
  [
    'a picture of an earlier answer',
    'chat',
    chatPath,
    {
      model,
      max_tokens: 5,
      messages: [
        { role: 'assistant', content: 'x', images: Array(90).fill(image('https://a.b/c.png')) },
        { role: 'user', content: 'x' },
      ],
    },
  ],
  [
    'a PDF',
    'messages',
    '/v1/messages',
    messageOf({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }),
  ],
  [
    'pictures in a document',
    'messages',
    '/v1/messages',
    messageOf({
      type: 'document',
      source: {
        type: 'content',
        content: Array(90).fill({ type: 'image', source: { type: 'url', url: 'https://a.b/c.png' } }),
      },
    }),
  ],
  [
    'a PDF in the result of a tool',
    'messages',
    '/v1/messages',
    messageOf({
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }],
    }),
  ],
  [
    'what a container holds',
    'messages',
    '/v1/messages',
    messageOf({ type: 'container_upload', file_id: 'f' }),
  ],
  [
    'a PDF called an image',
    'gemini',
    '/v1/messages',
    messageOf({ type: 'image', source: { type: 'base64', media_type: 'application/pdf', data } }),
  ],
  [
    'a film called a document',
    'gemini',
    '/v1/messages',
    messageOf({ type: 'document', source: { type: 'base64', media_type: 'video/mp4', data } }),
  ],
  ['a PDF', 'gemini', geminiPath, partOf(inline('application/pdf'))],
  ['a film in capitals', 'gemini', geminiPath, partOf(inline('VIDEO/MP4'))],
  ['media of no type', 'gemini', geminiPath, partOf(inline(''))],
  [
    'a film site as a picture',
    'gemini',
    geminiPath,
    partOf({ fileData: { mimeType: 'image/png', fileUri: 'https://www.youtube.com/watch?v=1' } }),
  ],
  [
    'a film in the result of a function',
    'gemini',
    geminiPath,
    partOf({ functionResponse: { name: 'f', response: {}, parts: [inline('video/mp4')] } }),
  ],
  [
    'a PDF in the system instruction',
    'gemini',
    geminiPath,
    partOf({ text: 'x' }, { system_instruction: { parts: [inline('application/pdf')] } }),
  ],
  ['what code prints', 'gemini', geminiPath, partOf({ text: 'x' }, { tools: [{ code_execution: {} }] })],
  ...(['gemini', 'responses'] as const).flatMap((speaks): Case[] => [
    [
      'a PDF',
      speaks,
      '/v1/responses',
      itemOf({ type: 'input_file', file_data: `data:application/pdf;base64,${data}` }),
    ],
    [
      'a film as a picture',
      speaks,
      '/v1/responses',
      itemOf({ type: 'input_image', image_url: `data:video/mp4;base64,${data}` }),
    ],
  ]),
  ['a file that is stored', 'responses', '/v1/responses', itemOf({ type: 'input_file', file_id: 'file-1' })],
  ['a stored picture', 'responses', '/v1/responses', itemOf({ type: 'input_image', file_id: 'file-1' })],
  [
    'a document as a result',
    'responses',
    '/v1/responses',
    {
      ...itemOf({ type: 'input_text', text: 'x' }),
      input: [
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [{ type: 'input_file', file_url: 'https://a.b/c' }],
        },
      ],
    },
  ],
]

test.each(cases)('%s is held as the most it may cost (%s, %s)', async (_what, speaks, path, body) => {
  const server = await serve(speaks)
  try {
    const before = await server.balance()
    const response = await server.post(path, body)
    await response.arrayBuffer()
    if (response.status === 400) expect(server.asked.length).toBe(0)
    else {
      expect(response.status).toBe(200)
      expect(before - (await server.balance())).toBe(BigInt(WORST) * 1_000n + 10_000n)
    }
  } finally {
    await server.stop()
  }
})

const refused: readonly (readonly [
  what: string,
  speaks: Exclude<Speaks, 'converse'>,
  path: string,
  body: unknown,
])[] = [
  [
    'a search tool',
    'chat',
    chatPath,
    chatOf({ type: 'text', text: 'x' }, { tools: [{ type: 'web_search', web_search: { enable: true } }] }),
  ],
  [
    'a built-in function',
    'chat',
    chatPath,
    chatOf(
      { type: 'text', text: 'x' },
      { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
    ),
  ],
  [
    'a prediction',
    'chat',
    chatPath,
    chatOf({ type: 'text', text: 'x' }, { prediction: { type: 'content', content: 'y' } }),
  ],
  ['a bound in capitals', 'chat', chatPath, chatOf({ type: 'text', text: 'x' }, { Max_Tokens: 8_000 })],
  [
    'a bound with a letter that folds',
    'chat',
    chatPath,
    chatOf({ type: 'text', text: 'x' }, { 'max_to\u212aens': 8_000 }),
  ],
  ['another model in capitals', 'chat', chatPath, chatOf({ type: 'text', text: 'x' }, { Model: 'dear' })],
  ['a search in capitals', 'chat', chatPath, chatOf({ type: 'text', text: 'x' }, { Enable_Search: true })],
  [
    'another bound in capitals',
    'messages',
    '/v1/messages',
    messageOf({ type: 'text', text: 'x' }, { MAX_TOKENS: 8_000 }),
  ],
  ['a stored context', 'gemini', geminiPath, partOf({ text: 'x' }, { cached_content: 'cachedContents/1' })],
  ['a dearer tier', 'gemini', geminiPath, partOf({ text: 'x' }, { serviceTier: 'priority' })],
  [
    'a config in both spellings',
    'gemini',
    geminiPath,
    partOf({ text: 'x' }, { generation_config: { maxOutputTokens: 8_000, candidateCount: 8 } }),
  ],
  [
    'a bound in both spellings',
    'gemini',
    geminiPath,
    partOf({ text: 'x' }, { generationConfig: { maxOutputTokens: 5, max_output_tokens: 8_000 } }),
  ],
  [
    'media in both spellings',
    'gemini',
    geminiPath,
    partOf({
      inlineData: { mimeType: 'image/png', data: 'a' },
      inline_data: { mimeType: 'video/mp4', data: 'a' },
    }),
  ],
  [
    'a type in both spellings',
    'gemini',
    geminiPath,
    partOf({ inlineData: { mimeType: 'image/png', mime_type: 'video/mp4', data: 'a' } }),
  ],
]

test.each(refused)('%s is refused before the vendor is asked (%s, %s)', async (_what, speaks, path, body) => {
  const server = await serve(speaks)
  try {
    const response = await server.post(path, body)
    expect(response.status).toBe(400)
    expect(server.asked.length).toBe(0)
  } finally {
    await server.stop()
  }
})

test('many inputs of one call for embeddings may together be longer than the context', async () => {
  const server = await startTestServer({
    models: [testModel('embed', { kind: 'embeddings', maxOutputTokens: 0, contextTokens: 8_191 })],
  })
  try {
    server.answerWith(() =>
      Response.json({
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: [1] }],
        usage: { prompt_tokens: 200_000, total_tokens: 200_000 },
      }),
    )
    const before = await server.balance()
    const input = Array(100).fill('a b '.repeat(1_000))
    const response = await server.post('/v1/embeddings', { model: 'mock/embed', input })
    expect(response.status).toBe(200)
    expect(before - (await server.balance())).toBe(200_000n * 1_000n)
  } finally {
    await server.stop()
  }
})
