/**
 * The texts of an answer that comes in events. The words of one text come in pieces, each in an event of its own; an event goes
 * on once all of its words are decided, and those behind it wait for it. So no event is made, lost or moved.
 */
import { escaped, isBinary, isNested, type JsonText, saidBy, textsIn, withTexts } from './json-texts.ts'
import type { Detector } from './letters.ts'
import { type Noted, type Piece, Scan, type Scanner } from './scanner.ts'

/** What tells pieces of different texts apart. */
const APART = new Set(['index', 'output_index', 'content_index', 'summary_index', 'item_id'])
/** Members that hold words where an event has a piece of a text. */
const WORDS = new Set([
  'content',
  'text',
  'delta',
  'thinking',
  'reasoning',
  'reasoning_content',
  'refusal',
  'arguments',
  'input',
  'partial_json',
  'transcript',
  'summary',
])
/** Pieces outside a member `delta`: Gemini's parts, completions, and Ollama's two. */
const OTHERS = new Set([
  'candidates.content.parts.text',
  'choices.text',
  'message.content',
  'message.thinking',
  'response',
  'thinking',
])

const isPiece = ({ path, kind }: JsonText): boolean =>
  kind === 'text' && ((path.includes('delta') && WORDS.has(path.at(-1) ?? '')) || OTHERS.has(path.join('.')))

/** A text in an event: what it said, and what it says now as far as that is decided. */
type Leaf = { readonly said: string; now: string; left: number }
type Waiting = {
  readonly json: string
  readonly texts: readonly JsonText[]
  readonly leaves: readonly Leaf[]
}
type Channel = {
  readonly scan: Scan
  readonly nested: boolean
  readonly leaves: Leaf[]
  /** In how many events others have gone on since its last piece. */
  quiet: number
}
/** After so many for each text that is open, one has ended: what came behind it must not wait for the end of the stream. */
const QUIET_MOST = 4

/** What stands in place of a find. */
type Replace = (found: Detector, text: string) => string

export class StreamTexts {
  readonly #scanner: Scanner
  readonly #replace: Replace
  readonly #noted: Noted
  /** How often each find was noted. */
  readonly #known = new Map<string, number>()
  /** And how often the event at hand has it. */
  readonly #inEvent = new Map<string, number>()
  readonly #ofPieces = this.#counting(new Map())
  readonly #ofEvent = this.#counting(this.#inEvent)
  readonly #channels = new Map<string, Channel>()
  #waiting: Waiting[] = []

  constructor(scanner: Scanner, replace: Replace, noted: Noted) {
    this.#scanner = scanner
    this.#replace = replace
    this.#noted = noted
  }

  /** Takes events and returns those that may go on. With `whole`, each text is all there is of it. */
  feed(events: string, whole = false): string {
    const all = textsIn(events)
    const texts = all.filter(({ kind }) => kind !== 'number')
    const marks = whole ? [] : all.filter(tellsApart)
    const fed = new Set<Channel>()
    let root = -1
    const leaves = texts.map((text) => {
      if (text.root !== root) this.#inEvent.clear()
      root = text.root
      const said = saidBy(events.slice(text.start, text.end))
      const piece = !whole && isPiece(text)
      // A piece of a text may look like bytes; the text decides.
      if (said === '' || (!piece && isBinary(said))) return { said, now: said, left: 0 }
      if (!piece) return { said, now: this.#whole(said, isNested(text)), left: 0 }
      const leaf = { said, now: '', left: said.length }
      const its = apartOf(text, marks, events)
      const channel = this.#channel(
        `${text.path.join('.')} ${its}`,
        isNested(text) || its.includes('arguments.delta"'),
      )
      fed.add(channel)
      channel.leaves.push(leaf)
      this.#give(channel, channel.scan.feed(said, false))
      return leaf
    })
    this.#waiting.push({ json: events, texts, leaves })
    if (fed.size > 0) this.#endQuiet(fed)
    return this.#ready()
  }

  /** No more comes of any text. */
  end(): string {
    for (const key of this.#channels.keys()) this.#end(key)
    return this.#ready()
  }

  #endQuiet(fed: ReadonlySet<Channel>): void {
    const most = QUIET_MOST * this.#channels.size
    for (const [key, channel] of this.#channels) {
      channel.quiet = fed.has(channel) ? 0 : channel.quiet + 1
      if (channel.quiet > most) this.#end(key)
    }
  }

  #end(key: string): void {
    const channel = this.#channels.get(key)
    if (channel !== undefined) this.#give(channel, channel.scan.feed('', true))
    this.#channels.delete(key)
  }

  #channel(key: string, nested: boolean): Channel {
    const known = this.#channels.get(key)
    if (known !== undefined) return known
    const channel = { scan: new Scan(this.#scanner, this.#ofPieces), nested, leaves: [], quiet: 0 }
    this.#channels.set(key, channel)
    return channel
  }

  /** Notes what an event, or all pieces, found more often than anything before: ends of texts say their words once more. */
  #counting(seen: Map<string, number>): Noted {
    return (detector, action, found) => {
      const name = `${action} ${detector.name} ${found}`
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      if (times <= (this.#known.get(name) ?? 0)) return
      this.#known.set(name, times)
      this.#noted(detector, action, found)
    }
  }

  #whole(said: string, nested: boolean): string {
    const leaf = { said, now: '', left: said.length }
    const scan = new Scan(this.#scanner, this.#ofEvent)
    this.#give({ scan, nested, leaves: [leaf] }, scan.feed(said, true))
    return leaf.now
  }

  /** Gives what was decided to the texts that it is of; what replaces a find stands where that began. */
  #give({ scan, nested, leaves }: Omit<Channel, 'quiet'>, pieces: readonly Piece[]): void {
    let at = 0
    for (const { length, found } of pieces) {
      const text = scan.taken.slice(at, at + length)
      at += length
      if (found !== undefined && leaves[0] !== undefined) {
        const now = this.#replace(found, text)
        leaves[0].now += nested ? escaped(now) : now
      }
      for (let from = 0; from < length; ) {
        const [leaf] = leaves
        if (leaf === undefined) break
        const count = Math.min(leaf.left, length - from)
        if (found === undefined) leaf.now += text.slice(from, from + count)
        leaf.left -= count
        from += count
        if (leaf.left === 0) leaves.shift()
      }
    }
  }

  #ready(): string {
    let count = 0
    let out = ''
    for (const { json, texts, leaves } of this.#waiting) {
      if (leaves.some(({ left }) => left > 0)) break
      out += withTexts(json, texts, (_text, at) => {
        const leaf = leaves[at]
        return leaf === undefined || leaf.now === leaf.said ? undefined : leaf.now
      })
      count++
    }
    this.#waiting = this.#waiting.slice(count)
    return out
  }
}

/** That Gemini's part is a thought tells it apart; so it is the name that counts. */
const tellsApart = ({ path, kind }: JsonText): boolean =>
  kind === 'name' ? path.at(-1) === 'thought' : path.join('.') === 'type' || APART.has(path.at(-1) ?? '')

const begins = <T>(whole: readonly T[], part: readonly T[]): boolean =>
  part.every((one, at) => whole[at] === one)

/** What tells a text apart: the marks in the objects that it is in. */
const apartOf = ({ path, places, root }: JsonText, marks: readonly JsonText[], events: string): string =>
  marks
    .filter(
      (mark) => mark.root === root && begins(path, mark.path.slice(0, -1)) && begins(places, mark.places),
    )
    .map((mark) => `${mark.path.join('.')}=${events.slice(mark.start, mark.end)}`)
    .join(' ')
