/** Dialects that only callers speak, each read as chat completions (over-chat.ts). */
import { refusalBody } from '../core/refusal.ts'
import { addChatBill } from './chat/pass.ts'
import { readCohere } from './cohere/call.ts'
import { addCohereBill, cohereError, writeCohereReply } from './cohere/reply.ts'
import { cohereStreamWriter } from './cohere/write-stream.ts'
import { readCompletions } from './completions/call.ts'
import { completionsStreamWriter, writeCompletion } from './completions/reply.ts'
import type { CallerDialect, CallerDialectId, VendorDialectId } from './dialect.ts'
import { readOllama } from './ollama/call.ts'
import { addOllamaBill, ollamaError, ollamaStreamWriter, writeOllamaReply } from './ollama/reply.ts'

export const smallCallers: Readonly<Record<Exclude<CallerDialectId, VendorDialectId>, CallerDialect>> = {
  completions: {
    readConversation: readCompletions,
    writeReply: writeCompletion,
    addBill: addChatBill,
    streamWriter: completionsStreamWriter,
    refusal: refusalBody,
    unsupported: ['audio', 'image', 'thinking', 'citations'],
  },
  cohere: {
    readConversation: readCohere,
    writeReply: writeCohereReply,
    addBill: addCohereBill,
    streamWriter: cohereStreamWriter,
    refusal: cohereError,
    unsupported: ['audio', 'image'],
  },
  ollama: {
    readConversation: readOllama,
    writeReply: writeOllamaReply,
    addBill: addOllamaBill,
    streamWriter: ollamaStreamWriter,
    refusal: ollamaError,
    objectArguments: true,
    comments: false,
    unsupported: ['audio', 'citations'],
  },
}
