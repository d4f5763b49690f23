/** Which addresses are public, who calls through proxies, and what a webhook may name. */
import { expect, test } from 'bun:test'
import {
  callerAddress,
  isPublic,
  isWithin,
  originOf,
  publicHttpsUrl,
  readAddress,
  readBlock,
} from './address.ts'

const read = (text: string) => {
  const address = readAddress(text)
  if (address === undefined) throw new Error(text)
  return address
}

test.each([
  '0.0.0.1',
  '10.0.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.168.1.1',
  '198.19.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:7f00:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fc00::1',
  'fdff::1',
  'fe80::1',
  'ff02::1',
  '2001:db8::1',
])('%s is not public', (text) => {
  expect(isPublic(read(text))).toBe(false)
})

test.each([
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '2606:4700::1111',
  '2a00:1450:4001::200e',
])('%s is public', (text) => {
  expect(isPublic(read(text))).toBe(true)
})

test.each([
  '',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '01.2.3.4',
  '0x7f.0.0.1',
  '1.2.3.4 ',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7::8',
  'fe80::1%eth0',
  '12345::',
  'x',
])('%p is not an address', (text) => {
  expect(readAddress(text)).toBeUndefined()
})

test('a block holds what shares its first bits, and nothing of the other family', () => {
  const block = readBlock('10.1.0.0/15')
  if (block === undefined) throw new Error('no block')
  expect(['10.0.9.9', '10.1.255.255', '::ffff:10.1.0.1'].map((text) => isWithin(read(text), block))).toEqual([
    true,
    true,
    true,
  ])
  expect(['10.2.0.0', '11.1.0.0', 'a01::', '::1'].map((text) => isWithin(read(text), block))).toEqual([
    false,
    false,
    false,
    false,
  ])
})

test.each([
  '0.0.0.0/0',
  '::/0',
  '::ffff:10.0.0.0/8',
  '::ffff:10.0.0.0/104',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/8/8',
  '10.0.0.0/',
  'all',
])('%s is no block to trust', (text) => {
  expect(readBlock(text)).toBeUndefined()
})

test('the caller is the right-most address that is not a trusted proxy', () => {
  const trusted = ['10.0.0.0/8', 'fd00::/8'].flatMap((text) => readBlock(text) ?? [])
  const caller = (peer: string | undefined, list: string | null) => {
    const address = callerAddress(peer, list, trusted)
    return address === undefined ? undefined : originOf(address)
  }
  expect(caller('1.2.3.4', '9.9.9.9')).toBe('1.2.3.4')
  expect(caller('10.0.0.1', '9.9.9.9')).toBe('9.9.9.9')
  expect(caller('::ffff:10.0.0.1', '8.8.8.8, 9.9.9.9, 10.2.2.2,fd00::5')).toBe('9.9.9.9')
  expect(caller('10.0.0.1', null)).toBe('10.0.0.1')
  expect(caller('10.0.0.1', '9.9.9.9, nonsense')).toBe('10.0.0.1')
  expect(caller('10.0.0.1', '10.0.0.2')).toBe('10.0.0.2')
  expect(caller(undefined, '9.9.9.9')).toBeUndefined()
})

test('an origin is an IPv4 address or the first half of an IPv6 address', () => {
  expect(originOf(read('2001:470:1:2:3:4:5:6'))).toBe(originOf(read('2001:470:1:2::')))
  expect(originOf(read('2001:470:1:2::'))).not.toBe(originOf(read('2001:470:1:3::')))
  expect(originOf(read('::ffff:1.2.3.4'))).toBe('1.2.3.4')
})

test('a webhook address is normalised', () => {
  expect(publicHttpsUrl('url', 'HTTPS://Hooks.Example.com:443/a?b#c')).toBe('https://hooks.example.com/a?b')
  expect(publicHttpsUrl('url', 'https://1.1.1.1/')).toBe('https://1.1.1.1/')
})
