/**
 * Runs a WASI program that writes one file, with nothing of the machine within its reach: no clock, no input, no folder
 * except an empty one. Source: WASI snapshot preview 1 (witx), only the calls that such a program makes.
 */

const PREOPENED = 3
const FILE = 4
const OK = 0
const NOT_OPEN = 8
const CANNOT_SEEK = 70
const kinds = { directory: 3, file: 4, terminal: 2 }

class Exit extends Error {}

/** Bytes that grow as they are written, up to a limit. */
const growing = (most: number) => {
  let bytes = new Uint8Array(65_536)
  let length = 0
  return {
    add: (piece: Uint8Array) => {
      if (length + piece.length > most) throw new Error('the program wrote too much')
      if (length + piece.length > bytes.length) {
        const larger = new Uint8Array(Math.max(2 * bytes.length, length + piece.length))
        larger.set(bytes)
        bytes = larger
      }
      bytes.set(piece, length)
      length += piece.length
    },
    all: () => bytes.slice(0, length),
  }
}

const systemFor = (args: readonly string[], memory: () => WebAssembly.Memory, most: number) => {
  const written = growing(most)
  const view = () => new DataView(memory().buffer)
  const bytes = () => new Uint8Array(memory().buffer)
  const put = (at: number, value: number) => view().setUint32(at, value, true)
  const texts = args.map((text) => new TextEncoder().encode(`${text}\0`))
  const imports = {
    args_sizes_get: (count: number, size: number) => {
      put(count, texts.length)
      put(
        size,
        texts.reduce((sum, text) => sum + text.length, 0),
      )
      return OK
    },
    args_get: (pointers: number, place: number) => {
      let at = place
      for (const [index, text] of texts.entries()) {
        put(pointers + 4 * index, at)
        bytes().set(text, at)
        at += text.length
      }
      return OK
    },
    clock_time_get: (_clock: number, _precision: bigint, to: number) => {
      view().setBigUint64(to, 0n, true)
      return OK
    },
    fd_close: () => OK,
    fd_fdstat_set_flags: () => OK,
    fd_fdstat_get: (fd: number, to: number) => {
      bytes().fill(0, to, to + 8)
      view().setUint8(to, fd === PREOPENED ? kinds.directory : fd === FILE ? kinds.file : kinds.terminal)
      view().setBigUint64(to + 8, 2n ** 64n - 1n, true)
      view().setBigUint64(to + 16, 2n ** 64n - 1n, true)
      return OK
    },
    fd_prestat_get: (fd: number, to: number) => {
      if (fd !== PREOPENED) return NOT_OPEN
      put(to, 0)
      put(to + 4, 1)
      return OK
    },
    fd_prestat_dir_name: (_fd: number, to: number) => {
      bytes()[to] = '/'.charCodeAt(0)
      return OK
    },
    fd_read: (_fd: number, _list: number, _count: number, to: number) => {
      put(to, 0)
      return OK
    },
    fd_seek: () => CANNOT_SEEK,
    fd_write: (fd: number, list: number, count: number, to: number) => {
      let sum = 0
      for (let index = 0; index < count; index++) {
        const at = view().getUint32(list + 8 * index, true)
        const length = view().getUint32(list + 8 * index + 4, true)
        if (fd === FILE) written.add(bytes().slice(at, at + length))
        sum += length
      }
      put(to, sum)
      return OK
    },
    path_open: (...given: (number | bigint)[]) => {
      put(Number(given[8]), FILE)
      return OK
    },
    proc_exit: (code: number) => {
      throw new Exit(String(code))
    },
  }
  return { imports, written }
}

/**
 * The contents of the file that the program wrote, at most `most` bytes. Throws if the program exits with another code
 * than 0.
 */
export const runWasi = (
  program: WebAssembly.Module,
  args: readonly string[],
  most: number,
): Uint8Array<ArrayBuffer> => {
  let memory: WebAssembly.Memory | undefined
  const system = systemFor(
    args,
    () => {
      if (memory === undefined) throw new Error('the program has no memory')
      return memory
    },
    most,
  )
  const { exports } = new WebAssembly.Instance(program, { wasi_snapshot_preview1: system.imports })
  if (!(exports.memory instanceof WebAssembly.Memory)) throw new Error('the program has no memory')
  memory = exports.memory
  try {
    if (typeof exports._start === 'function') exports._start()
  } catch (thrown) {
    if (!(thrown instanceof Exit && thrown.message === '0')) throw thrown
  }
  return system.written.all()
}
