/** Small inline files of our own, so that the examples of the built-in products run as they are. */

const PNG = [
  'iVBORw0KGgoAAAANSUhEUgAAAJYAAAAsAQMAAAC9ntOyAAAABlBMVEX///8AAABVwtN+AAAACXBIWXMAAAsTAAALEwEAmpwY',
  'AAAAeUlEQVQoz2NgGC5AhqHA/h8bAzsDg/0BJLH6f3wgsf8fMMQYP/xAEitgAIkxH7DBEGNvkMEUY5DDEOMDQuLE+GFi8v8/',
  'QNwCdiNpYkjmseOzg2T3YfMbtjBgbkAOqwqgjewNjA+Qw7T+P///4/8foIY9RKz+AMOIBAC5FzoQkSUmawAAAABJRU5ErkJg',
  'gg==',
].join('')

/** The word HELLO in black on white. */
export const EXAMPLE_PICTURE = `data:image/png;base64,${PNG}`

const PDF = [
  'JVBERi0xLjQKMSAwIG9iago8PC9UeXBlL0NhdGFsb2cvUGFnZXMgMiAwIFI+PgplbmRvYmoKMiAwIG9iago8PC9UeXBlL1Bh',
  'Z2VzL0NvdW50IDEvS2lkc1szIDAgUl0+PgplbmRvYmoKMyAwIG9iago8PC9UeXBlL1BhZ2UvUGFyZW50IDIgMCBSL01lZGlh',
  'Qm94WzAgMCAyMDAgMTAwXS9Db250ZW50cyA0IDAgUi9SZXNvdXJjZXM8PC9Gb250PDwvRiA1IDAgUj4+Pj4+PgplbmRvYmoK',
  'NCAwIG9iago8PC9MZW5ndGggNDI+PgpzdHJlYW0KQlQgL0YgMjQgVGYgMjAgNjAgVGQgKEhlbGxvLCB0aWRlcy4pIFRqIEVU',
  'CmVuZHN0cmVhbQplbmRvYmoKNSAwIG9iago8PC9UeXBlL0ZvbnQvU3VidHlwZS9UeXBlMS9CYXNlRm9udC9IZWx2ZXRpY2E+',
  'PgplbmRvYmoKeHJlZgowIDYKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDA5IDAwMDAwIG4gCjAwMDAwMDAwNTQgMDAw',
  'MDAgbiAKMDAwMDAwMDEwNSAwMDAwMCBuIAowMDAwMDAwMjE2IDAwMDAwIG4gCjAwMDAwMDAzMDYgMDAwMDAgbiAKdHJhaWxl',
  'cjw8L1NpemUgNi9Sb290IDEgMCBSPj4Kc3RhcnR4cmVmCjM2OQolJUVPRgo=',
].join('')

/** One page that says "Hello, tides." */
export const EXAMPLE_PDF = `data:application/pdf;base64,${PDF}`

/** A fifth of a second of silence: WAV, 8 kHz, one channel, 8 bits. */
export const EXAMPLE_SOUND = `data:audio/wav;base64,${Buffer.from(
  Uint8Array.from([
    ...Buffer.from('RIFF'),
    ...[100, 6, 0, 0],
    ...Buffer.from('WAVEfmt '),
    ...[16, 0, 0, 0, 1, 0, 1, 0, 64, 31, 0, 0, 64, 31, 0, 0, 1, 0, 8, 0],
    ...Buffer.from('data'),
    ...[64, 6, 0, 0],
    ...new Array<number>(1_600).fill(128),
  ]),
).toString('base64')}`
