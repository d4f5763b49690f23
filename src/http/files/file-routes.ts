/** Routes of files that callers upload as inputs of products. */

import { alsoOfMessages, byKey, type Route } from '../route/route.ts'
import { fileAnswer, fileBytes, fileDeleted, fileList, fileUpload } from '../schema/files.ts'
import { createFile, deleteFile, getFile, getFileContent, listFiles } from './files.ts'
import { googleAt } from './google-file-routes.ts'

const routes: readonly Route[] = [
  {
    ...byKey('POST /v1/files'),
    summary: 'Stores a file that inputs of products can name; kept UPLOAD_DAYS, free.',
    body: fileUpload,
    answer: fileAnswer,
    query: ['filename', 'purpose'],
    handler: createFile,
  },
  {
    ...byKey('GET /v1/files'),
    summary: 'Lists the files of the key and of the keys below it.',
    answer: fileList,
    query: ['purpose', 'limit', 'after', 'order', 'page', 'after_id'],
    handler: listFiles,
  },
  {
    ...byKey('GET /v1/files/:id'),
    summary: 'One file.',
    answer: fileAnswer,
    handler: getFile,
  },
  {
    ...byKey('GET /v1/files/:id/content'),
    summary: 'The bytes of a file, whole or a range of them. A 302 if they are in a bucket.',
    answer: fileBytes,
    answerType: '*/*',
    headers: ['Range', 'If-Range', 'If-None-Match'],
    handler: getFileContent,
  },
  {
    ...byKey('DELETE /v1/files/:id'),
    summary: 'Deletes a file of the key, or of a key below it, at once.',
    answer: fileDeleted,
    handler: deleteFile,
  },
]

/** Clients of Google have files of their own shape at some of these addresses. */
export const fileRoutes: readonly Route[] = routes.map((route) => {
  const google = googleAt[`${route.method} ${route.path}`]
  return alsoOfMessages(google === undefined ? route : { ...route, google })
})
