/** Servers whose one vendor speaks a given dialect. */
import type { Model } from '../../src/core/model.ts'
import type { VendorDialectId } from '../../src/dialects/dialect.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { messageItem, response, responsesUsage10and5 } from '../dialects/responses-vendor.ts'
import { completion, startTestServer, type TestServer, testModel } from './harness.ts'

/** A vendor's whole answer to any call. */
export const wholeAnswers: Readonly<Record<VendorDialectId, () => Response>> = {
  converse: () =>
    Response.json({
      output: { message: { role: 'assistant', content: [{ text: 'hello' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 10, outputTokens: 5 },
    }),
  chat: () => completion('hello'),
  responses: () => Response.json(response([messageItem('hello')], { usage: responsesUsage10and5 })),
  messages: () =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  gemini: () =>
    Response.json({
      candidates: [
        { content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
    }),
  interactions: () =>
    Response.json({
      id: '',
      status: 'completed',
      steps: [{ type: 'model_output', content: [{ type: 'text', text: 'hello' }] }],
      usage: { total_input_tokens: 10, total_output_tokens: 5 },
    }),
}

/** Runs `work` before a server whose vendor speaks a dialect. */
export const before = async (
  speaks: keyof typeof wholeAnswers,
  work: (server: TestServer) => Promise<void>,
  more: { vendor?: Partial<Vendor>; model?: Partial<Model> } = {},
): Promise<void> => {
  const model = testModel('small', {
    capabilities: ['streaming', 'function_calling', 'reasoning'],
    ...more.model,
  })
  const server = await startTestServer({
    vendor: { ...(speaks === 'chat' ? {} : { speaks }), ...more.vendor },
    models: [model],
  })
  server.answerWith(() => wholeAnswers[speaks]())
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}
