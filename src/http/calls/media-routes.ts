/** The addresses of products that are not chat, in the styles of known clients; POST /v1/run takes them all. */
import { callHeaders } from '../request/call-headers.ts'
import type { Route } from '../route/route.ts'
import { paymentRequired } from '../schema/errors.ts'
import {
  editsRequest,
  imageAnswer,
  imageEvent,
  imageRequest,
  imagesAnswer,
  imagesRequest,
  moderationAnswer,
  moderationRequest,
  rerankAnswer,
  rerankRequest,
  speechAnswer,
  speechRequest,
  transcriptionAnswer,
  transcriptionRequest,
} from '../schema/media.ts'
import {
  editImages,
  generateImage,
  generateImages,
  moderation,
  rerank,
  speech,
  transcription,
  translation,
} from './model-calls.ts'

const call = {
  method: 'POST',
  auth: 'bearer',
  instead: paymentRequired,
  headers: callHeaders,
  runs: true,
} as const

export const mediaRoutes: readonly Route[] = [
  {
    ...call,
    path: '/v1/image/generate',
    summary: 'Makes an image, and returns its address.',
    body: imageRequest,
    answer: imageAnswer,
    handler: generateImage,
  },
  {
    ...call,
    path: '/v1/images/generations',
    summary: "Makes images, in the style of OpenAI's clients, whole or as a stream.",
    body: imagesRequest,
    answer: imagesAnswer,
    event: imageEvent,
    handler: generateImages,
  },
  {
    ...call,
    path: '/v1/images/edits',
    summary: 'Makes images from images; the body is a form, or JSON.',
    body: editsRequest,
    answer: imagesAnswer,
    event: imageEvent,
    handler: editImages,
  },
  {
    ...call,
    path: '/v1/audio/speech',
    summary: "Speaks a text, in the style of OpenAI's clients.",
    body: speechRequest,
    answer: speechAnswer,
    answerType: 'audio/*',
    handler: speech,
  },
  {
    ...call,
    path: '/v1/audio/transcriptions',
    summary: 'Transcribes a recording; the body is a form, or JSON.',
    body: transcriptionRequest,
    answer: transcriptionAnswer,
    handler: transcription,
  },
  {
    ...call,
    path: '/v1/audio/translations',
    summary: 'Translates the speech in a recording to English; the body is a form, or JSON.',
    body: transcriptionRequest,
    answer: transcriptionAnswer,
    handler: translation,
  },
  {
    ...call,
    path: '/v1/rerank',
    summary: 'Orders documents by how well they answer a query.',
    body: rerankRequest,
    answer: rerankAnswer,
    handler: rerank,
  },
  {
    ...call,
    path: '/v2/rerank',
    summary: "The same at the address of Cohere's client.",
    body: rerankRequest,
    answer: rerankAnswer,
    handler: rerank,
  },
  {
    ...call,
    path: '/v1/moderations',
    summary: 'Says whether texts or images are harmful; free.',
    body: moderationRequest,
    answer: moderationAnswer,
    handler: moderation,
  },
]
