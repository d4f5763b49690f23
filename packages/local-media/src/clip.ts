/** Sounds and films by mediabunny: their contents, and parts of them cut without encoding. */
import {
  ALL_FORMATS,
  BufferSource,
  BufferTarget,
  Conversion,
  Input,
  type InputTrack,
  Mp3OutputFormat,
  Mp4OutputFormat,
  OggOutputFormat,
  Output,
  type OutputFormat,
  WavOutputFormat,
  WebMOutputFormat,
} from 'mediabunny'
import type { Facts, Make } from '../../../src/vendors/local/product.ts'
import { WrongInput } from './wrong-input.ts'

const unreadable = () => new WrongInput('url', "'url' is no sound or film that can be read here")

const open = async (bytes: Uint8Array<ArrayBuffer>): Promise<Input> => {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) })
  if (!(await input.canRead().catch(() => false))) throw unreadable()
  return input
}

const trackOf = async (track: InputTrack): Promise<Facts> => {
  const base = {
    type: track.type,
    codec: await track.getCodec(),
    language: await track.getLanguageCode(),
    seconds: await track.computeDuration(),
  }
  if (track.isVideoTrack())
    return { ...base, width: await track.getDisplayWidth(), height: await track.getDisplayHeight() }
  return track.isAudioTrack()
    ? { ...base, sample_rate: await track.getSampleRate(), channels: await track.getNumberOfChannels() }
    : base
}

/** Length, format and tracks. The length is that of the content, not what the header claims. */
export const makeMediaInfo: Make = async (_, bytes) => {
  const input = await open(bytes)
  try {
    const found = await input.getTracks()
    const tracks = await Promise.all(found.map(trackOf))
    const format = await input.getFormat()
    const seconds = await input.computeDuration()
    return {
      json: {
        format: format.name,
        media_type: await input.getMimeType(),
        seconds,
        bytes: bytes.length,
        tracks,
      },
    }
  } catch {
    throw unreadable()
  } finally {
    input.dispose()
  }
}

/** A container of the same family; what it cannot hold goes into MP4. */
const containerFor = async (input: Input): Promise<OutputFormat> => {
  const { name } = await input.getFormat()
  if (name === 'WAVE') return new WavOutputFormat()
  if (name === 'MP3') return new Mp3OutputFormat()
  if (name === 'Ogg') return new OggOutputFormat()
  return name === 'WebM' || name === 'Matroska' ? new WebMOutputFormat() : new Mp4OutputFormat()
}

/** The part from `start` to `end`, in seconds. */
export const makeTrim: Make = async ({ start, end }, bytes) => {
  const input = await open(bytes)
  try {
    const seconds = await input.computeDuration().catch(() => {
      throw unreadable()
    })
    if (Number(start) >= seconds)
      throw new WrongInput('start', `'start' is behind the end, which is at ${seconds.toFixed(3)} s`)
    const target = new BufferTarget()
    const format = await containerFor(input)
    const conversion = await Conversion.init({
      input,
      output: new Output({ format, target }),
      trim: { start: Number(start), end: Math.min(Number(end), seconds) },
      // Plain samples are cut exactly, everything else at packet borders, because there are no codecs here.
      copy: format instanceof WavOutputFormat ? {} : { mode: 'forced', shiftTolerance: Infinity },
      showWarnings: false,
    })
    if (!conversion.isValid) throw unreadable()
    await conversion.execute()
    if (target.buffer === null) throw unreadable()
    const film = (await input.getVideoTracks()).length > 0
    const mediaType = film ? format.mimeType : format.mimeType.replace(/^video\//, 'audio/')
    return { bytes: new Uint8Array(target.buffer), mediaType }
  } catch (thrown) {
    throw thrown instanceof WrongInput ? thrown : unreadable()
  } finally {
    input.dispose()
  }
}
