/**
 * The curve secp256k1 by libsecp256k1, of the machine or of an npm package, where there is one: four times as fast as the same
 * library as WebAssembly. Source: its headers `secp256k1.h` and `secp256k1_recovery.h`, whose calls are the same in all its versions.
 */
import { dlopen, FFIType } from 'bun:ffi'
import { dirname, join } from 'node:path'

/**
 * The public key whose signature this is, 65 bytes.
 *
 * @param compact its two numbers, 64 bytes
 * @param parity of the point that the first number stands for
 * @returns undefined where the signature is none
 */
export type Recover = (compact: Buffer, parity: 0 | 1, digest: Buffer) => Uint8Array | undefined

const { ptr, i32, u32 } = FFIType
const calls = {
  secp256k1_context_create: { args: [u32], returns: ptr },
  secp256k1_ecdsa_recoverable_signature_parse_compact: { args: [ptr, ptr, ptr, i32], returns: i32 },
  secp256k1_ecdsa_recover: { args: [ptr, ptr, ptr, ptr], returns: i32 },
  secp256k1_ec_pubkey_serialize: { args: [ptr, ptr, ptr, ptr, u32], returns: i32 },
} as const

const FOR_VERIFICATION = 0x101
const UNCOMPRESSED = 2

/** Its file by name; the number changes with every other release, none of which changed these calls. */
const names =
  process.platform === 'darwin'
    ? ['libsecp256k1.dylib']
    : ['.6', '.5', '.4', '.3', '.2', '.1', '.0', ''].map((version) => `libsecp256k1.so${version}`)

/**
 * The library inside the package `secp256k1`, for the systems it has one for. Nothing else of the package is loaded; what does
 * not belong to this machine does not open.
 */
const packaged = (): readonly string[] => {
  try {
    const folder = dirname(Bun.resolveSync('secp256k1/package.json', import.meta.dir))
    const built = join(folder, 'prebuilds', `${process.platform}-${process.arch}`)
    return ['.glibc', '.musl', ''].map((form) => join(built, `secp256k1${form}.node`))
  } catch {
    return []
  }
}

const X = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const Y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8'

/** Whether it finds the curve's own base point: under a digest of zeros, that is the key of the signature that says it twice. */
const isSound = (recover: Recover): boolean => {
  const found = recover(Buffer.from(X + X, 'hex'), 0, Buffer.alloc(32))
  return found !== undefined && Buffer.from(found).toString('hex') === `04${X}${Y}`
}

const openNamed = (name: string): Recover => {
  const { symbols } = dlopen(name, calls)
  const context = symbols.secp256k1_context_create(FOR_VERIFICATION)
  const [signature, key, length] = [Buffer.alloc(65), Buffer.alloc(64), new BigUint64Array(1)]
  return (compact, parity, digest) => {
    const parsed = symbols.secp256k1_ecdsa_recoverable_signature_parse_compact
    if (parsed(context, signature, compact, parity) !== 1) return undefined
    if (symbols.secp256k1_ecdsa_recover(context, key, signature, digest) !== 1) return undefined
    length[0] = 65n
    const found = Buffer.alloc(65)
    symbols.secp256k1_ec_pubkey_serialize(context, found, length, key, UNCOMPRESSED)
    return found
  }
}

/** Opens the library; undefined where there is none, or only one without recovery of keys. */
export const openNativeCurve = (): Recover | undefined => {
  for (const name of [...names, ...packaged()]) {
    try {
      const recover = openNamed(name)
      if (isSound(recover)) return recover
    } catch {
      // There is none of this name, or it is for another system.
    }
  }
  return undefined
}
