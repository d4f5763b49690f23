/**
 * The public members of each caller's dialect, as the vendors' own libraries declare them, each with a value that asks
 * for something. `public-members.test.ts` checks that none is left out without a name, and that this list has all
 * members of the libraries.
 *
 * Sources: the declarations of openai, @anthropic-ai/sdk and @google/genai in the versions of package.json.
 */
import type { CallerId } from './clients.ts'

export type PublicSchema = {
  /** The declaration in the library: an interface or a class. */
  readonly name: string
  readonly file: string
  /** The place of such an object in the request. */
  readonly at: string
  readonly samples: Readonly<Record<string, unknown>>
}

export type PublicDialect = {
  readonly request: object
  readonly schemas: readonly PublicSchema[]
  /** Members that mean something to this server itself, by path. */
  readonly own: readonly string[]
}

const picture = 'data:image/png;base64,AAAA'
const object = { type: 'object' }
const marked = { type: 'ephemeral' }
const format = { type: 'json_schema', json_schema: { name: 'x', schema: object } }

const completions = 'openai/resources/chat/completions/completions.d.ts'
const chat: PublicDialect = {
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
      { role: 'tool', tool_call_id: 'c', content: 'done' },
      { role: 'user', content: 'go on' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: object } }],
  },
  own: ['model', 'stream', 'stream_options.include_usage'],
  schemas: [
    {
      name: 'ChatCompletionCreateParamsBase',
      file: completions,
      at: '',
      samples: {
        audio: { format: 'mp3', voice: 'alloy' },
        frequency_penalty: 1,
        function_call: { name: 'f' },
        functions: [{ name: 'g', parameters: object }],
        logit_bias: { 1: 1 },
        logprobs: true,
        max_completion_tokens: 8_000,
        metadata: { a: 'b' },
        modalities: ['text', 'audio'],
        moderation: { model: 'm' },
        n: 2,
        parallel_tool_calls: false,
        prediction: { type: 'content', content: 'x' },
        presence_penalty: 1,
        prompt_cache_key: 'k',
        prompt_cache_options: { a: 1 },
        prompt_cache_retention: '24h',
        reasoning_effort: 'high',
        response_format: format,
        safety_identifier: 's',
        seed: 1,
        service_tier: 'flex',
        stop: ['x'],
        store: true,
        stream_options: { include_obfuscation: false },
        temperature: 0.5,
        tool_choice: 'required',
        top_logprobs: 2,
        top_p: 0.5,
        user: 'u',
        verbosity: 'low',
        web_search_options: {},
      },
    },
    {
      name: 'ChatCompletionStreamOptions',
      file: completions,
      at: 'stream_options',
      samples: { include_obfuscation: false },
    },
    { name: 'ChatCompletionUserMessageParam', file: completions, at: 'messages.0', samples: { name: 'n' } },
    {
      name: 'ChatCompletionAssistantMessageParam',
      file: completions,
      at: 'messages.1',
      samples: {
        audio: { id: 'a' },
        function_call: { name: 'f', arguments: '{}' },
        name: 'n',
        refusal: 'no',
      },
    },
    {
      name: 'ChatCompletionContentPartText',
      file: completions,
      at: 'messages.0.content.0',
      samples: { prompt_cache_breakpoint: {} },
    },
    {
      name: 'ChatCompletionContentPartImage',
      file: completions,
      at: 'messages.0.content.1',
      samples: { prompt_cache_breakpoint: {} },
    },
    { name: 'ChatCompletionFunctionTool', file: completions, at: 'tools.0', samples: {} },
    {
      name: 'FunctionDefinition',
      file: 'openai/resources/shared.d.ts',
      at: 'tools.0.function',
      samples: { strict: true },
    },
  ],
}

const params = 'openai/resources/responses/responses.d.ts'
const responses: PublicDialect = {
  request: {
    model: 'a/b',
    max_output_tokens: 9_000,
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi' },
          { type: 'input_image', image_url: picture },
        ],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
    ],
    tools: [{ type: 'function', name: 'f', description: 'd', parameters: object }],
  },
  own: ['model', 'stream', 'input.1.id', 'input.1.status', 'store'],
  schemas: [
    {
      name: 'ResponseCreateParamsBase',
      file: params,
      at: '',
      samples: {
        access_programs: ['a'],
        background: true,
        context_management: [{ type: 'compaction' }],
        conversation: 'c',
        image: { a: 1 },
        include: ['message.output_text.logprobs'],
        instructions: 'i',
        max_tool_calls: 2,
        metadata: { a: 'b' },
        moderation: { model: 'm' },
        parallel_tool_calls: false,
        previous_response_id: 'r',
        prompt: { id: 'p' },
        prompt_cache_key: 'k',
        prompt_cache_options: { a: 1 },
        prompt_cache_retention: '24h',
        reasoning: { effort: 'high' },
        safety_identifier: 's',
        service_tier: 'flex',
        stream_options: { include_obfuscation: false },
        temperature: 0.5,
        text: { verbosity: 'low' },
        tool_choice: 'required',
        top_logprobs: 2,
        top_p: 0.5,
        truncation: 'auto',
        user: 'u',
      },
    },
    {
      name: 'Reasoning',
      file: 'openai/resources/shared.d.ts',
      at: 'reasoning',
      samples: { context: 'all', effort: 'high', generate_summary: 'auto', mode: 'x', summary: 'auto' },
    },
    {
      name: 'FunctionTool',
      file: params,
      at: 'tools.0',
      samples: {
        strict: true,
        allowed_callers: ['direct'],
        async: true,
        defer_loading: true,
        output_schema: object,
      },
    },
    {
      name: 'ResponseTextConfig',
      file: params,
      at: 'text',
      samples: { format: { type: 'json_object' }, verbosity: 'low' },
    },
    { name: 'EasyInputMessage', file: params, at: 'input.0', samples: { phase: 'commentary' } },
    {
      name: 'ResponseInputText',
      file: params,
      at: 'input.0.content.0',
      samples: { prompt_cache_breakpoint: {} },
    },
    {
      name: 'ResponseInputImage',
      file: params,
      at: 'input.0.content.1',
      samples: { detail: 'high', file_id: 'f', prompt_cache_breakpoint: {} },
    },
    {
      name: 'ResponseFunctionToolCall',
      file: params,
      at: 'input.1',
      samples: { async: true, caller: { type: 'direct' }, namespace: 'n' },
    },
  ],
}

const beta = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts'
const messages: PublicDialect = {
  request: {
    model: 'a/b',
    max_tokens: 9_000,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] },
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'go on' },
    ],
    tools: [{ name: 'f', description: 'd', input_schema: object }],
  },
  own: ['model', 'stream', 'betas', 'tools.0.type'],
  schemas: [
    {
      name: 'MessageCreateParamsBase',
      file: beta,
      at: '',
      samples: {
        billing_policy: { bill_to: 'user_profile' },
        cache_control: marked,
        compaction: {},
        container: 'c',
        context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
        diagnostics: { previous_message_id: 'm' },
        fallback_credit_token: 't',
        fallbacks: ['a'],
        inference_geo: 'us',
        mcp_servers: [{ type: 'url', url: 'https://x', name: 'n' }],
        metadata: { user_id: 'u' },
        output_config: { effort: 'high' },
        output_format: { type: 'json_schema', schema: object },
        service_tier: 'standard_only',
        speed: 'fast',
        stop_sequences: ['x'],
        system: 's',
        thinking: { type: 'enabled', budget_tokens: 2_000 },
        thread: { id: 't' },
        tool_choice: { type: 'any' },
        user_profile_id: 'u',
        workspace_id: 'w',
      },
    },
    {
      name: 'BetaTool',
      file: beta,
      at: 'tools.0',
      samples: {
        allowed_callers: ['code_execution_20250825'],
        cache_control: marked,
        defer_loading: true,
        eager_input_streaming: true,
        input_examples: [{}],
        strict: true,
      },
    },
    {
      name: 'BetaTextBlockParam',
      file: beta,
      at: 'messages.0.content.0',
      samples: { cache_control: marked, citations: [{ type: 'char_location' }] },
    },
    {
      name: 'BetaImageBlockParam',
      file: beta,
      at: 'messages.0.content.1',
      samples: { cache_control: marked, transformations: [{ type: 'x' }] },
    },
    {
      name: 'BetaRequestDocumentBlock',
      file: beta,
      at: 'messages.0.content.2',
      samples: { cache_control: marked, citations: { enabled: true }, context: 'c', title: 't' },
    },
    {
      name: 'BetaToolUseBlockParam',
      file: beta,
      at: 'messages.1.content.0',
      samples: { cache_control: marked, caller: { type: 'direct' }, toolset_name: 'n' },
    },
    {
      name: 'BetaToolResultBlockParam',
      file: beta,
      at: 'messages.2.content.0',
      samples: { cache_control: marked, is_error: true, toolset_name: 'n' },
    },
    {
      name: 'BetaSystemMessageParam',
      file: beta,
      at: 'messages.3',
      samples: { clear_at: 'next_user_message', output_config: { effort: 'high' } },
    },
    {
      name: 'BetaOutputConfig',
      file: beta,
      at: 'output_config',
      samples: {
        effort: 'high',
        format: { type: 'json_schema', schema: object },
        task_budget: { type: 'tokens', total: 9 },
      },
    },
    {
      name: 'BetaThinkingConfigEnabled',
      file: beta,
      at: 'thinking',
      samples: { budget_tokens: 2_000, type: 'enabled', block_binding: 'x', display: 'omitted' },
    },
    {
      name: 'BetaToolChoiceAuto',
      file: beta,
      at: 'tool_choice',
      samples: { type: 'any', disable_parallel_tool_use: true },
    },
  ],
}

const genai = '@google/genai/dist/genai.d.ts'
const gemini: PublicDialect = {
  request: {
    contents: [
      {
        role: 'user',
        parts: [
          { text: 'hi' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { mimeType: 'image/png', fileUri: 'https://x/y.png' } },
        ],
      },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'f', description: 'd', parameters: { type: 'OBJECT' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    generationConfig: { maxOutputTokens: 9_000 },
  },
  own: ['model', 'contents.2.parts.0.functionResponse.id'],
  schemas: [
    {
      name: 'GenerationConfig',
      file: genai,
      at: 'generationConfig',
      samples: {
        modelSelectionConfig: { featureSelectionPreference: 'BALANCED' },
        responseJsonSchema: object,
        audioTranscriptionConfig: { a: 1 },
        audioTimestamp: true,
        candidateCount: 2,
        enableAffectiveDialog: true,
        frequencyPenalty: 1,
        logprobs: 2,
        mediaResolution: 'MEDIA_RESOLUTION_LOW',
        presencePenalty: 1,
        responseFormat: { a: 1 },
        responseLogprobs: true,
        responseMimeType: 'application/json',
        responseModalities: ['AUDIO'],
        responseSchema: { type: 'OBJECT' },
        routingConfig: { manualMode: { modelName: 'm' } },
        seed: 1,
        speechConfig: { languageCode: 'de-DE' },
        stopSequences: ['x'],
        temperature: 0.5,
        thinkingConfig: { thinkingBudget: 2_000 },
        topK: 5,
        topP: 0.5,
        enableEnhancedCivicAnswers: true,
        translationConfig: { a: 1 },
      },
    },
    {
      name: 'Tool',
      file: genai,
      at: 'tools.0',
      samples: Object.fromEntries(
        [
          'retrieval',
          'googleMaps',
          'mcpServers',
          'codeExecution',
          'computerUse',
          'enterpriseWebSearch',
          'exaAiSearch',
          'googleSearch',
          'googleSearchRetrieval',
          'parallelAiSearch',
          'urlContext',
          'fileSearch',
        ].map((name) => [name, {}]),
      ),
    },
    {
      name: 'FunctionDeclaration',
      file: genai,
      at: 'tools.0.functionDeclarations.0',
      samples: {
        behavior: 'NON_BLOCKING',
        parametersJsonSchema: { type: 'object', properties: { a: {} } },
        response: { type: 'OBJECT' },
        responseJsonSchema: object,
      },
    },
    {
      name: 'Part',
      file: genai,
      at: 'contents.0.parts.1',
      samples: {
        mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
        toolCall: { id: 'x' },
        toolResponse: { id: 'x' },
        audioTranscription: { text: 'x' },
        codeExecutionResult: { outcome: 'OUTCOME_OK', output: 'x' },
        executableCode: { code: 'x', language: 'PYTHON' },
        fileData: { fileUri: 'https://x/y.png', mimeType: 'image/png' },
        functionCall: { name: 'f', args: {} },
        functionResponse: { name: 'f', response: {} },
        text: 'x',
        thought: true,
        thoughtSignature: 'AAAA',
        videoMetadata: { fps: 2 },
        partMetadata: { a: 1 },
        mediaProcessing: { a: 1 },
        speechMetadata: { a: 1 },
      },
    },
    {
      name: 'ThinkingConfig',
      file: genai,
      at: 'generationConfig.thinkingConfig',
      samples: { includeThoughts: true, thinkingBudget: 2_000, thinkingLevel: 'HIGH' },
    },
    {
      name: 'ToolConfig',
      file: genai,
      at: 'toolConfig',
      samples: { retrievalConfig: { languageCode: 'de' }, includeServerSideToolInvocations: true },
    },
    {
      name: 'FunctionCallingConfig',
      file: genai,
      at: 'toolConfig.functionCallingConfig',
      samples: { allowedFunctionNames: ['none'], streamFunctionCallArguments: true },
    },
    {
      name: 'FunctionCall',
      file: genai,
      at: 'contents.1.parts.0.functionCall',
      samples: { id: 'own', partialArgs: [{}], willContinue: true },
    },
    {
      name: 'FunctionResponse',
      file: genai,
      at: 'contents.2.parts.0.functionResponse',
      samples: {
        parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
        scheduling: 'SILENT',
        willContinue: true,
      },
    },
    { name: 'Blob_2', file: genai, at: 'contents.0.parts.1.inlineData', samples: { displayName: 'n' } },
    { name: 'FileData', file: genai, at: 'contents.0.parts.2.fileData', samples: { displayName: 'n' } },
  ],
}

const said = { type: 'text', text: 'hi' }
const ofInteraction = {
  background: true,
  cached_content: 'c',
  continuation_token: 't',
  environment: { type: 'remote' },
  labels: { a: 'b' },
  previous_interaction_id: 'int_a',
  response_format: { type: 'text', mime_type: 'application/json', schema: object },
  response_mime_type: 'application/json',
  response_modalities: ['audio'],
  safety_settings: [{ type: 'harassment', threshold: 'off' }],
  service_tier: 'flex',
  system_instruction: 's',
  webhook_config: { uris: ['https://x'] },
}
const interactions: PublicDialect = {
  request: {
    model: 'a/b',
    generation_config: { max_output_tokens: 9_000 },
    input: [
      { type: 'user_input', content: [said, { type: 'image', data: 'AAAA', mime_type: 'image/png' }] },
      { type: 'thought', summary: [said], signature: 'AAAA' },
      { type: 'model_output', content: [{ type: 'text', text: 'x' }] },
      { type: 'function_call', id: 'c', name: 'f', arguments: {} },
      { type: 'function_result', call_id: 'c', name: 'f', result: 'done' },
    ],
    tools: [{ type: 'function', name: 'f', description: 'd', parameters: object }],
  },
  own: ['model', 'stream', 'store', 'input.4.name', 'response_format.type'],
  schemas: [
    {
      name: 'CreateModelInteraction',
      file: genai,
      at: '',
      samples: ofInteraction,
    },
    {
      name: 'CreateAgentInteraction',
      file: genai,
      at: '',
      samples: {
        ...ofInteraction,
        agent: 'deep-research-preview-04-2026',
        agent_config: { type: 'dynamic' },
      },
    },
    {
      name: 'GenerationConfig_2',
      file: genai,
      at: 'generation_config',
      samples: {
        image_config: { image_size: '1K' },
        max_output_tokens: 8_000,
        seed: 1,
        speech_config: { voice: 'v' },
        stop_sequences: ['x'],
        temperature: 0.5,
        thinking_level: 'high',
        thinking_summaries: 'auto',
        tool_choice: 'any',
        top_p: 0.5,
        transcription_config: { mode: 'smart' },
        video_config: { task: 'edit' },
      },
    },
    {
      name: 'AllowedTools',
      file: genai,
      at: 'generation_config.tool_choice.allowed_tools',
      samples: { mode: 'any', tools: ['none'] },
    },
    {
      name: 'TextResponseFormat_2',
      file: genai,
      at: 'response_format',
      samples: { schema: object, mime_type: 'application/json' },
    },
    {
      name: 'ImageResponseFormat_2',
      file: genai,
      at: 'response_format',
      samples: { aspect_ratio: '1:1', delivery: 'uri', image_size: '1K', mime_type: 'image/jpeg' },
    },
    {
      name: 'VideoResponseFormat_2',
      file: genai,
      at: 'response_format',
      samples: {
        aspect_ratio: '16:9',
        delivery: 'uri',
        duration: '6s',
        gcs_uri: 'gs://x',
        resolution: '720p',
      },
    },
    {
      name: 'ImageContent',
      file: genai,
      at: 'input.0.content.1',
      samples: { resolution: 'high', uri: 'https://x/y.png' },
    },
    {
      name: 'TextContent',
      file: genai,
      at: 'input.2.content.0',
      samples: { annotations: [{ type: 'url_citation' }] },
    },
    { name: 'ThoughtStep', file: genai, at: 'input.1', samples: {} },
    { name: 'FunctionResultStep', file: genai, at: 'input.4', samples: { is_error: true } },
  ],
}

export const publicDialects: Readonly<Record<CallerId, PublicDialect>> = {
  chat,
  messages,
  responses,
  gemini,
  interactions,
}
