/** A stream from a vendor of one dialect to a caller of another: read into steps, written as the caller's events. */
import type { Usage } from '../../core/usage.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import type { Piece } from '../neutral.ts'
import { newProgress, noteChoice, openChoices, type Progress, type StreamRelay } from '../relay.ts'
import type { StreamWriter } from '../stream-writer.ts'
import { newArgumentsWatch } from './tool-arguments.ts'

const encoder = new TextEncoder()

/** What the caller's dialect does not support, whether its streams may contain comments, and how it writes arguments. */
type CallerSide = {
  readonly unsupported?: readonly string[]
  readonly comments?: boolean
  readonly objectArguments?: true
}

export const translatedRelay = (
  read: (data: string) => readonly Piece[],
  writer: StreamWriter,
  { unsupported = [], comments = true, objectArguments }: CallerSide = {},
): StreamRelay => {
  const wrongArguments = objectArguments === true ? newArgumentsWatch() : () => undefined
  const progress = newProgress()
  let usage: Usage | undefined
  const notCarried = new Set<string>()
  const take = (piece: Piece): string => {
    const { contentEvents, letters, unsaid } = progress
    note(progress, piece)
    if ('choice' in piece) noteChoice(progress, piece.choice, piece.type === 'finish')
    if (piece.type === 'usage') usage = piece.usage
    if (piece.type === 'not_carried') notCarried.add(piece.name)
    const kind = piece.type === 'citation' ? 'citations' : piece.type
    if (unsupported.includes(kind)) notCarried.add(kind)
    const wrong = wrongArguments(piece)
    if (wrong !== undefined) progress.error = { message: wrong }
    const text = wrong === undefined ? writer.write(piece) : ''
    progress.unsaid =
      text !== '' || piece.type === 'finish'
        ? { events: 0, letters: 0 }
        : {
            events: unsaid.events + progress.contentEvents - contentEvents,
            letters: unsaid.letters + progress.letters - letters,
          }
    return text
  }
  return {
    progress,
    follow: ({ data, bytes }) => {
      let text = ''
      if (data === '') text = bytes.length > 0 ? writer.write({ type: 'ping' }) : ''
      else for (const piece of read(data)) text += take(piece)
      return text === '' ? undefined : encoder.encode(text)
    },
    usage: () => usage,
    end: (ending) => {
      const stops = ending.cut ? openChoices(progress) : []
      const said = stops.map((choice) => writer.write({ type: 'finish', choice, finish: 'length' })).join('')
      const named = notCarried.size > 0
      const comment = named && comments ? notCarriedComment(notCarried) : ''
      const told = named && !comments ? { ...ending, notCarried: [...notCarried] } : ending
      return said + comment + writer.end(told)
    },
    fail: (error) => writer.fail(error),
  }
}

/** What was not carried, as a comment, which clients skip: the headers went out long before. */
const notCarriedComment = (names: Iterable<string>): string => `: x-not-carried: ${[...names].join(', ')}\n\n`

/** Counts a step's content. The vendor has begun once it says more than its name. */
const note = (progress: Progress, piece: Piece): void => {
  switch (piece.type) {
    case 'start':
    case 'usage':
    case 'ping':
    case 'not_carried':
      return
    case 'text':
    case 'thinking':
    case 'refusal':
    case 'summary':
    case 'arguments':
      progress.letters += lettersIn(piece.text)
      progress.thought ||= piece.type === 'thinking'
      progress.contentEvents++
      break
    case 'tool':
      progress.letters += lettersIn(piece.name)
      progress.contentEvents++
      break
    case 'signature':
      progress.thought = true
      break
    case 'image':
    case 'audio':
      progress.contentEvents++
      break
    case 'blocked':
      progress.blocked = true
      break
    case 'error':
      progress.error = piece.error
      break
    case 'end':
      progress.done = true
      break
    default:
  }
  progress.begun = true
}
