/** The public members of the small dialects: see public-members.ts. Sources: the declarations of cohere-ai and ollama. */
import type { PublicDialect } from './public-schema.ts'

const object = { type: 'object' }
const picture = 'data:image/png;base64,AAAA'
const types = 'cohere-ai/api/types'

export const cohere: PublicDialect = {
  request: {
    model: 'a/b',
    max_tokens: 9_000,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: picture } },
        ],
      },
      {
        role: 'assistant',
        content: 'x',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'document', document: { data: { a: 1 } } }] },
      { role: 'user', content: 'go on' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: object } }],
  },
  own: ['model', 'stream'],
  schemas: [
    {
      name: 'V2ChatRequest',
      file: 'cohere-ai/api/resources/v2/client/requests/V2ChatRequest.d.ts',
      at: '',
      samples: {
        citation_options: { mode: 'FAST' },
        documents: ['a text'],
        frequency_penalty: 0.5,
        k: 5,
        logprobs: true,
        max_tokens: 8_000,
        p: 0.5,
        presence_penalty: 0.5,
        priority: 1,
        response_format: { type: 'json_object', json_schema: object },
        safety_mode: 'STRICT',
        seed: 1,
        stop_sequences: ['x'],
        strict_tools: true,
        temperature: 0.5,
        thinking: { type: 'enabled', token_budget: 2_000 },
        tool_choice: 'REQUIRED',
      },
    },
    {
      name: 'AssistantMessage',
      file: `${types}/AssistantMessage.d.ts`,
      at: 'messages.1',
      samples: { tool_plan: 'I will look.', citations: [{ start: 0, end: 1, text: 'x' }] },
    },
    { name: 'ToolMessageV2', file: `${types}/ToolMessageV2.d.ts`, at: 'messages.2', samples: {} },
    {
      name: 'Document',
      file: `${types}/Document.d.ts`,
      at: 'messages.2.content.0.document',
      samples: { id: 'doc_1' },
    },
    {
      name: 'ImageUrl',
      file: `${types}/ImageUrl.d.ts`,
      at: 'messages.0.content.1.image_url',
      samples: { detail: 'high' },
    },
    {
      name: 'ToolV2Function',
      file: `${types}/ToolV2Function.d.ts`,
      at: 'tools.0.function',
      samples: {},
    },
  ],
}

const file = 'ollama/dist/browser.d.ts'

export const ollama: PublicDialect = {
  request: {
    model: 'a/b',
    stream: false,
    options: { num_predict: 9_000 },
    messages: [
      { role: 'user', content: 'hi', images: ['iVBORw0KGgoAAAAA'] },
      {
        role: 'assistant',
        content: 'x',
        tool_calls: [{ function: { name: 'f', arguments: {} } }],
      },
      { role: 'tool', tool_name: 'f', content: 'done' },
      { role: 'user', content: 'go on' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: object } }],
  },
  own: ['model', 'stream', 'messages.1.tool_name'],
  schemas: [
    {
      name: 'ChatRequest',
      file,
      at: '',
      samples: {
        format: object,
        keep_alive: '5m',
        logprobs: true,
        think: 'high',
        top_logprobs: 3,
      },
    },
    {
      name: 'Options',
      file,
      at: 'options',
      samples: {
        ...Object.fromEntries(
          [
            'numa',
            'num_ctx',
            'num_batch',
            'num_gpu',
            'main_gpu',
            'low_vram',
            'f16_kv',
            'logits_all',
            'vocab_only',
            'use_mmap',
            'use_mlock',
            'embedding_only',
            'num_thread',
            'num_keep',
            'min_p',
            'tfs_z',
            'typical_p',
            'repeat_last_n',
            'repeat_penalty',
            'mirostat',
            'mirostat_tau',
            'mirostat_eta',
            'penalize_newline',
          ].map((name) => [name, 1]),
        ),
        num_predict: 8_000,
        seed: 1,
        top_k: 5,
        top_p: 0.5,
        temperature: 0.5,
        presence_penalty: 0.5,
        frequency_penalty: 0.5,
        stop: ['x'],
      },
    },
    { name: 'Message', file, at: 'messages.1', samples: { thinking: 'hm', images: ['iVBORw0KGgoAAAAA'] } },
  ],
}
