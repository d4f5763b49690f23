/** A process that adds to the log of receipts and prints each end that it signs, until it is killed. */
import { generateKeyPairSync } from 'node:crypto'
import { writeSync } from 'node:fs'
import { signLogHead } from '../../src/receipts/log-head.ts'
import { signingKey } from '../../src/receipts/token.ts'
import { openStore } from '../../src/store/open-store.ts'

const [url = '', at] = process.argv.slice(2)
const store = await openStore({ url, now: () => Number(at) })
const signer = signingKey('test', generateKeyPairSync('ed25519').privateKey)
const sign: Parameters<typeof store.log.grow>[0] = (end) => {
  writeSync(1, `${end.size} ${Buffer.from(end.root).toString('hex')}\n`)
  return signLogHead(signer, end)
}
while (await store.log.grow(sign));
writeSync(1, 'all\n')
await store.close()
