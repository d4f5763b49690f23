/** What vendors without chat have in common: they speak no dialect, and they bill what they have begun. */
import type { Vendor } from './vendor.ts'

export const noChat = {
  surfaces: [],
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'drain',
} satisfies Partial<Vendor>
