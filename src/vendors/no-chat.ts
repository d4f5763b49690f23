/** What vendors have in common that sell no chat: nothing of theirs is asked in a dialect, and what is begun they bill. */
import type { Vendor } from './vendor.ts'

export const noChat = {
  surfaces: [],
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'drain',
} satisfies Partial<Vendor>
