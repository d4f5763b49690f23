/** The signature of a release: minisign takes it, where this machine has one, and so does a second reading of its form. */
import { afterAll, expect, test } from 'bun:test'
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { differing, readSums } from '../../scripts/release/check.ts'
import { signature } from '../../scripts/release/sign.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-signature-'))
afterAll(() => rmSync(folder, { recursive: true }))
const at = (name: string) => join(folder, name)

const raw = (text: string | undefined) => Buffer.from(text ?? '', 'base64url')

/** The two files of a key as minisign writes them without a password. */
const newKey = (name: string): void => {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const id = crypto.getRandomValues(Buffer.alloc(8))
  const secret = Buffer.concat([
    Buffer.from('Ed\0\0B2'),
    Buffer.alloc(48),
    id,
    raw(d),
    raw(x),
    Buffer.alloc(32),
  ])
  writeFileSync(at(`${name}.key`), `untrusted comment: secret\n${secret.toString('base64')}\n`)
  const open = Buffer.concat([Buffer.from('Ed'), id, raw(x)])
  writeFileSync(at(`${name}.pub`), `untrusted comment: public\n${open.toString('base64')}\n`)
}

/** Whether a signature is of a file, read again from the form's description alone. */
const holds = (file: string, pub: string): boolean => {
  const key = Buffer.from(readFileSync(at(pub), 'utf8').split('\n')[1] ?? '', 'base64')
  const [, first = '', comment = '', last = ''] = readFileSync(at(`${file}.minisig`), 'utf8').split('\n')
  const own = Buffer.from(first, 'base64')
  const x = key.subarray(10).toString('base64url')
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const digest = createHash('blake2b512')
    .update(readFileSync(at(file)))
    .digest()
  const told = Buffer.concat([own.subarray(10), Buffer.from(comment.replace('trusted comment: ', ''))])
  return (
    own.toString('latin1', 0, 2) === 'ED' &&
    own.subarray(2, 10).equals(key.subarray(2, 10)) &&
    verify(null, digest, publicKey, own.subarray(10)) &&
    verify(null, told, publicKey, Buffer.from(last, 'base64'))
  )
}

const sign = (file: string, key: string) =>
  writeFileSync(
    at(`${file}.minisig`),
    signature(readFileSync(at(file)), 'file:SHA256SUMS version:1', at(key)),
  )

/** What minisign says; undefined without it. */
const minisign = (file: string, pub: string): boolean | undefined =>
  Bun.which('minisign') === null
    ? undefined
    : Bun.spawnSync(['minisign', '-V', '-q', '-p', at(pub), '-m', at(file)]).exitCode === 0

const both = (file: string, pub: string) => [holds(file, pub), minisign(file, pub) ?? holds(file, pub)]

test('a signature is of these bytes, by this key, with this comment', () => {
  newKey('one')
  newKey('two')
  writeFileSync(at('SHA256SUMS'), 'a\n')
  sign('SHA256SUMS', 'one.key')
  expect(both('SHA256SUMS', 'one.pub')).toEqual([true, true])
  expect(both('SHA256SUMS', 'two.pub')).toEqual([false, false])
  writeFileSync(at('SHA256SUMS'), 'b\n')
  expect(both('SHA256SUMS', 'one.pub')).toEqual([false, false])
  sign('SHA256SUMS', 'one.key')
  const text = readFileSync(at('SHA256SUMS.minisig'), 'utf8')
  writeFileSync(at('SHA256SUMS.minisig'), text.replace('version:1', 'version:2'))
  expect(both('SHA256SUMS', 'one.pub')).toEqual([false, false])
})

test('a key that minisign made signs; one with a password is refused by name', () => {
  writeFileSync(at('none.key'), 'untrusted comment: x\nAAAA\n')
  expect(() => signature(Buffer.from(''), '', at('none.key'))).toThrow('is no secret key of minisign')
  const [comment, text = ''] = readFileSync(at('one.key'), 'utf8').split('\n')
  const locked = Buffer.from(text, 'base64')
  locked.write('Sc', 2)
  writeFileSync(at('locked.key'), `${comment}\n${locked.toString('base64')}\n`)
  expect(() => signature(Buffer.from(''), '', at('locked.key'))).toThrow('has a password')
  if (Bun.which('minisign') === null) return
  const made = Bun.spawnSync(['minisign', '-G', '-W', '-p', at('made.pub'), '-s', at('made.key')])
  expect([made.exitCode, made.stderr.toString()]).toEqual([0, ''])
  writeFileSync(at('made'), 'of a release')
  sign('made', 'made.key')
  expect(both('made', 'made.pub')).toEqual([true, true])
})

test('sums of two builds differ where bytes do, or where one lacks a file', () => {
  const sums = (list: Readonly<Record<string, string>>) =>
    readSums(
      Object.entries(list)
        .map(([name, digit]) => `${digit.repeat(64)}  ${name}\n`)
        .join(''),
    )
  const one = sums({ a: '0', b: '1' })
  expect(differing(one, sums({ a: '0', b: '1' }), true)).toEqual([])
  expect(differing(one, sums({ a: '0', b: '2' }), true)).toEqual(['b'])
  expect(differing(one, sums({ a: '0' }), true)).toEqual(['b'])
  expect(differing(one, sums({ a: '0', c: '1' }), false)).toEqual([])
})
