/** The built-in products behind a port, for the commands of a page of docs: run unchanged, by a shell and curl. */
import { expect } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'
import { mockSetup } from '../server/harness.ts'

type Documented = {
  readonly server: AssetServer
  /** The folder in which the commands run and leave their files. */
  readonly folder: string
  /** Runs a block of commands, which must succeed and print nothing as an error. */
  run(block: string): Promise<void>
  stop(): Promise<void>
}

/** The blocks of commands of a page in docs. */
export const blocksOf = async (page: string): Promise<readonly string[]> => {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
}

/** Starts a server that sells these products of its own. */
export const startDocumented = async (products: typeof mediaHere.models): Promise<Documented> => {
  let gate = ''
  const server = await startAssetServer({
    change: { base: () => gate },
    server: {
      models: products.map((one) => modelOf('local', one)),
      more: [{ ...mockSetup({ id: 'local', media: mediaHere }, localFetch), baseUrl: 'local:' }],
    },
  })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  gate = `http://127.0.0.1:${bound.port}`
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-documented-'))
  const env = { PATH: process.env.PATH ?? '', GATE: gate, KEY: (await server.newKey()).token }
  return {
    server,
    folder,
    run: async (block) => {
      const shell = Bun.spawn(['sh', '-e', '-c', block], { cwd: folder, env, stderr: 'pipe' })
      const said = await new Response(shell.stderr).text()
      expect([block, await shell.exited, said]).toEqual([block, 0, ''])
    },
    stop: async () => {
      await bound.stop(true)
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
