/** Routes of files in the form of Google's clients. */
import { at, type Route } from '../route/route.ts'
import { googleFile, googleFileList, googleUpload, nothing, uploadStart } from '../schema/google-files.ts'
import { deleteGoogleFile, getGoogleFile, listGoogleFiles, sendBytes, startUpload } from './google-files.ts'

const ofGoogle = {
  auth: 'bearer',
  dialect: 'gemini',
  headers: ['x-goog-api-key'],
  query: ['key'],
} as const
const commands = [
  'x-goog-api-key',
  'X-Goog-Upload-Protocol',
  'X-Goog-Upload-Command',
  'X-Goog-Upload-Offset',
] as const

const list: Route = {
  ...ofGoogle,
  ...at('GET /v1beta/files'),
  summary: 'Lists the files of the key and of the keys below it.',
  answer: googleFileList,
  query: ['key', 'pageSize', 'pageToken'],
  handler: listGoogleFiles,
}
const get: Route = {
  ...ofGoogle,
  ...at('GET /v1beta/files/:id'),
  summary: 'One file.',
  answer: googleFile,
  handler: getGoogleFile,
}
const end: Route = {
  ...ofGoogle,
  ...at('DELETE /v1beta/files/:id'),
  summary: 'Deletes a file of the key, or of a key below it, at once.',
  answer: nothing,
  handler: deleteGoogleFile,
}

export const googleFileRoutes: readonly Route[] = [
  ...['/upload/v1beta/files', '/upload/v1/files'].map(
    (path): Route => ({
      ...ofGoogle,
      method: 'POST',
      path,
      summary: 'Begins a resumable upload; the header X-Goog-Upload-URL is where its bytes go.',
      headers: [...commands, 'X-Goog-Upload-Header-Content-Type'],
      body: uploadStart,
      answer: nothing,
      handler: startUpload,
    }),
  ),
  {
    ...ofGoogle,
    ...at('POST /upload/v1beta/files/:session'),
    summary: 'Bytes of a resumable upload; the last request joins what came before.',
    headers: commands,
    answer: googleUpload,
    handler: sendBytes,
  },
  list,
  get,
  end,
]

/** What answers Google's clients at addresses under `/v1`, which others use too. */
export const googleAt: Readonly<Record<string, Route>> = {
  'GET /v1/files': list,
  'GET /v1/files/:id': get,
  'DELETE /v1/files/:id': end,
}
