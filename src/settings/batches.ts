/** Settings of batches that a running server reads while it answers, as `gateway.options`. */
import { duration, integer, onOff } from './form.ts'
import type { SettingGroup } from './setting.ts'

export const batchSettings = {
  batchesOpenMax: {
    name: 'BATCHES_OPEN_MAX',
    is: integer(1, 999_999),
    fallback: '20',
    meaning: 'Batches that one key may have open at once; further ones are refused with 429.',
  },
  batchLinesMax: {
    name: 'BATCH_LINES_MAX',
    is: integer(1, 999_999),
    fallback: '50000',
    meaning: 'Lines that a batch may have.',
  },
  batchLinesOpen: {
    name: 'BATCH_LINES_OPEN',
    is: integer(1, 9_999),
    fallback: '32',
    meaning:
      'Lines of batches that a process has at vendors at once. They start only while calls are few enough (DISCOUNT_OPEN_MAX).',
  },
  batchAtVendors: {
    name: 'BATCH_AT_VENDORS',
    is: onOff(),
    fallback: 'on',
    meaning:
      "Whether lines go to their vendor's own batches, at the price of these, where vendor and model have them.",
  },
  batchRates: {
    name: 'BATCH_RATES',
    is: onOff(),
    fallback: 'off',
    meaning:
      "Whether lines of batches count in the requests and tokens per minute of their key, behind the key's other calls.",
  },
  batchLifeMs: {
    name: 'BATCH_HOURS',
    is: duration('hours', 1, 9_999),
    fallback: '24',
    meaning: 'How long lines of a batch may wait to be sent; then they expire.',
  },
  batchKeptMs: {
    name: 'BATCH_DAYS',
    is: duration('days', 1, 9_999),
    fallback: '7',
    meaning: 'How long a batch and its results can be read after it has ended.',
  },
} as const satisfies SettingGroup
