/** JSON answers of the control plane. */
import type { Answer } from '../../gateway/parts/answer.ts'

const encoder = new TextEncoder()

export const json = (value: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: encoder.encode(JSON.stringify(value)),
})
