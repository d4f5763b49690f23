/** The list of dialects, each side a record of functions. */
import { refusalBody } from '../core/refusal.ts'
import { readUsage, usageFinder } from '../metering/read-usage.ts'
import { readChat } from './chat/decode-call.ts'
import { writeChatCall } from './chat/encode-call.ts'
import { asksOlder } from './chat/older-calls.ts'
import { addChatBill, chatLetters, chatNotCarried, passChatCall } from './chat/pass.ts'
import { chatRelay } from './chat/pass-stream.ts'
import { chatStreamReader } from './chat/read-stream.ts'
import { readChatReply, writeChatReply } from './chat/reply.ts'
import { chatStreamWriter } from './chat/write-stream.ts'
import { writeConverseCall } from './converse/encode-call.ts'
import {
  converseLetters,
  converseStreamReader,
  readConverseReply,
  readConverseUsage,
} from './converse/reply.ts'
import type {
  CallerDialect,
  CallerDialectId,
  VendorDialect,
  VendorDialectId,
  VendorTraits,
} from './dialect.ts'
import { readGemini } from './gemini/decode-call.ts'
import { noSchemaBesideTools, writeGeminiCall } from './gemini/encode-call.ts'
import { geminiRefusal } from './gemini/error.ts'
import { queriesIn, withQueries } from './gemini/grounding.ts'
import { addGeminiBill, geminiLetters, geminiRelay, passGeminiCall } from './gemini/pass.ts'
import { geminiStreamReader } from './gemini/read-stream.ts'
import { isBlocked, readGeminiReply, readGeminiUsage, writeGeminiReply } from './gemini/reply.ts'
import { eventFraming, geminiStreamWriter, listFraming } from './gemini/write-stream.ts'
import { readInteractions } from './interactions/decode-call.ts'
import { writeInteractionsCall } from './interactions/encode-call.ts'
import {
  addInteractionsBill,
  interactionsRelay,
  namedHere,
  passInteractionsCall,
} from './interactions/pass.ts'
import {
  interactionsLetters,
  isBlockedPrompt,
  isInteraction,
  readInteractionsReply,
} from './interactions/read-reply.ts'
import { interactionsStreamReader } from './interactions/read-stream.ts'
import { writeInteractionsReply } from './interactions/reply.ts'
import { readInteractionsUsage } from './interactions/usage.ts'
import { interactionsStreamWriter } from './interactions/write-stream.ts'
import { readMessages } from './messages/decode-call.ts'
import { noSchemas, writeMessagesCall } from './messages/encode-call.ts'
import { messagesError } from './messages/error.ts'
import {
  addMessagesBill,
  messagesLetters,
  messagesNotCarried,
  messagesRelay,
  passMessagesCall,
} from './messages/pass.ts'
import { messagesStreamReader } from './messages/read-stream.ts'
import { readMessagesReply, readMessagesUsage, writeMessagesReply } from './messages/reply.ts'
import { messagesStreamWriter } from './messages/write-stream.ts'
import { objectOf, objectsOf, textOf } from './request/json-members.ts'
import { refusesMaker, replyWithMaker } from './responses/compaction.ts'
import { readResponses } from './responses/decode-call.ts'
import { writeResponsesCall } from './responses/encode-call.ts'
import { passResponsesCall, responsesNotCarried } from './responses/pass-call.ts'
import { addResponsesBill, isResponse, responsesLetters } from './responses/pass-reply.ts'
import { responsesRelay } from './responses/pass-stream.ts'
import { readResponsesReply } from './responses/read-reply.ts'
import { responsesStreamReader } from './responses/read-stream.ts'
import { writeResponsesReply } from './responses/reply.ts'
import { usageOfResponse } from './responses/usage.ts'
import { responsesStreamWriter } from './responses/write-stream.ts'
import { smallCallers } from './small-callers.ts'

export const callerDialects: Readonly<Record<CallerDialectId, CallerDialect>> = {
  chat: {
    readConversation: readChat,
    writeReply: writeChatReply,
    oneCall: asksOlder,
    addBill: addChatBill,
    streamWriter: chatStreamWriter,
    refusal: refusalBody,
  },
  messages: {
    readConversation: readMessages,
    writeReply: writeMessagesReply,
    addBill: addMessagesBill,
    streamWriter: messagesStreamWriter,
    refusal: messagesError,
    objectArguments: true,
    supportsPrefill: true,
    unsupported: ['audio'],
  },
  gemini: {
    readConversation: readGemini,
    writeReply: writeGeminiReply,
    addBill: addGeminiBill,
    streamWriter: (context, listed) => geminiStreamWriter(context, listed ? listFraming() : eventFraming()),
    refusal: geminiRefusal,
    objectArguments: true,
    comments: false,
    supportsPrefill: true,
  },
  responses: {
    readConversation: readResponses,
    writeReply: writeResponsesReply,
    addBill: addResponsesBill,
    streamWriter: responsesStreamWriter,
    refusal: refusalBody,
    unsupported: ['audio'],
  },
  ...smallCallers,
  interactions: {
    readConversation: readInteractions,
    writeReply: writeInteractionsReply,
    addBill: addInteractionsBill,
    streamWriter: interactionsStreamWriter,
    refusal: refusalBody,
    objectArguments: true,
  },
}

/** Finds and reads the usage in an answer or event of a vendor that speaks chat completions. */
const chatUsageOf = (traits: VendorTraits) => {
  const find = usageFinder(traits)
  return { find, read: (raw: Parameters<typeof readUsage>[0]) => readUsage(raw, traits) }
}

const PENALTIES = ['presence_penalty', 'frequency_penalty'] as const

/**
 * What vendors do not support, and which names of tools and ids of calls they accept. Sources: OpenAI API reference,
 * "Create chat completion"; Anthropic API reference, "Create a Message"; Gemini API reference, "FunctionDeclaration";
 * Amazon Bedrock API reference, "ToolSpecification" and "ToolUseBlock".
 */
export const vendorDialects: Readonly<Record<VendorDialectId, VendorDialect>> = {
  chat: {
    path: () => '/chat/completions',
    writeCall: writeChatCall,
    unsupported: ['top_k', 'cache_control', 'is_error', 'images of an answer'],
    names: { tool: /^[a-zA-Z0-9_-]+$/, toolMax: 64, idMax: 40 },
    needsSchemaTool: () => false,
    readReply: readChatReply,
    usageOf: (value, traits) => {
      const raw = usageFinder(traits)(value)
      return raw === undefined ? undefined : readUsage(raw, traits)
    },
    tierOf: (value) => textOf(value.service_tier),
    letters: chatLetters,
    streamReader: (newId, traits) => {
      const { find, read } = chatUsageOf(traits)
      return chatStreamReader(newId, (event) => {
        const raw = find(event)
        return raw === undefined ? undefined : read(raw)
      })
    },
    pass: {
      call: (call, { model, quirks, outputBound }) => passChatCall(call, model, quirks, outputBound),
      notCarried: (call, { quirks }) => chatNotCarried(call, quirks),
      isReply: (value) => Array.isArray(value.choices),
      relay: (traits) => chatRelay(chatUsageOf(traits)),
    },
  },
  messages: {
    path: () => '/messages',
    writeCall: writeMessagesCall,
    unsupported: ['seed', ...PENALTIES, 'logprobs', 'strict', 'name', 'detail', 'images of an answer'],
    names: { tool: /^[a-zA-Z0-9_-]+$/, toolMax: 128, idMax: Number.POSITIVE_INFINITY },
    betas: () => 'header',
    supportsPrefill: () => true,
    needsSchemaTool: ({ upstreamName }) => noSchemas(upstreamName),
    readReply: readMessagesReply,
    usageOf: (value) => readMessagesUsage(objectOf(value.usage)),
    letters: messagesLetters,
    streamReader: messagesStreamReader,
    pass: {
      call: passMessagesCall,
      notCarried: messagesNotCarried,
      isReply: (value) => Array.isArray(value.content),
      relay: (_traits, _listed, modelName) => messagesRelay(modelName),
    },
  },
  gemini: {
    path: ({ upstreamName }, stream) =>
      `/models/${upstreamName}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    writeCall: writeGeminiCall,
    unsupported: ['strict', 'parallel_tool_calls', 'user', 'name', 'cache_control', 'detail', 'filename'],
    names: { tool: /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/, toolMax: 64, idMax: Number.POSITIVE_INFINITY },
    needsSchemaTool: noSchemaBesideTools,
    readReply: readGeminiReply,
    // A blocked prompt is free, whatever the vendor counted.
    usageOf: (value) =>
      isBlocked(value) ? {} : withQueries(readGeminiUsage(objectOf(value.usageMetadata)), queriesIn(value)),
    tierOf: (value) => textOf(objectOf(value.usageMetadata).serviceTier),
    letters: geminiLetters,
    streamReader: geminiStreamReader,
    pass: {
      call: (call, { model, outputBound }) => passGeminiCall(call, model, outputBound),
      isReply: (value) => Array.isArray(value.candidates) || isBlocked(value),
      relay: (_traits, listed) => geminiRelay(listed ? listFraming() : eventFraming()),
    },
  },
  converse: {
    path: ({ upstreamName }, stream) =>
      `/model/${encodeURIComponent(upstreamName)}/${stream ? 'converse-stream' : 'converse'}`,
    writeCall: writeConverseCall,
    unsupported: [
      'top_k',
      'seed',
      ...PENALTIES,
      'logprobs',
      'user',
      'parallel_tool_calls',
      'temperature above 1',
      'strict',
      'name',
      'detail',
      'images of an answer',
    ],
    names: { tool: /^[a-zA-Z0-9_-]+$/, toolMax: 64, idMax: 64 },
    betas: ({ upstreamName }) => (upstreamName.includes('claude') ? 'fields' : undefined),
    supportsPrefill: ({ upstreamName }) => upstreamName.includes('claude'),
    needsSchemaTool: () => true,
    readReply: readConverseReply,
    usageOf: (value) => readConverseUsage(objectOf(value.usage)),
    letters: converseLetters,
    streamReader: converseStreamReader,
  },
  responses: {
    path: () => '/responses',
    writeCall: writeResponsesCall,
    unsupported: [
      'top_k',
      'seed',
      ...PENALTIES,
      'logprobs',
      'stop',
      'name',
      'cache_control',
      'is_error',
      'images of an answer',
    ],
    names: { tool: /^[a-zA-Z0-9_-]+$/, toolMax: 64, idMax: 64 },
    needsSchemaTool: () => false,
    readReply: readResponsesReply,
    usageOf: usageOfResponse,
    tierOf: (value) => textOf(value.service_tier) ?? textOf(objectOf(value.response).service_tier),
    letters: responsesLetters,
    streamReader: responsesStreamReader,
    pass: {
      call: passResponsesCall,
      refuses: refusesMaker,
      changed: replyWithMaker,
      notCarried: responsesNotCarried,
      isReply: isResponse,
      relay: responsesRelay,
    },
  },
  interactions: {
    path: () => '/interactions',
    writeCall: writeInteractionsCall,
    unsupported: [
      'top_k',
      ...PENALTIES,
      'logprobs',
      'strict',
      'parallel_tool_calls',
      'user',
      'name',
      'cache_control',
      'detail',
      'filename',
    ],
    names: { tool: /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/, toolMax: 64, idMax: Number.POSITIVE_INFINITY },
    needsSchemaTool: () => false,
    readReply: readInteractionsReply,
    // A blocked prompt is free, whatever the vendor counted.
    usageOf: (value) =>
      isBlockedPrompt(value) ? {} : readInteractionsUsage(objectOf(value.usage), objectsOf(value.steps)),
    tierOf: (value) => textOf(value.service_tier) ?? textOf(objectOf(value.interaction).service_tier),
    letters: interactionsLetters,
    streamReader: interactionsStreamReader,
    pass: {
      call: passInteractionsCall,
      changed: (reply, _quirks, context) => namedHere(reply, context().requestId),
      isReply: isInteraction,
      relay: (_traits, _listed, _modelName, context) => interactionsRelay(context),
    },
  },
}
