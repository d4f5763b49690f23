/**
 * What a release was made from, as an in-toto statement with the provenance of SLSA 1.0: the files with their digests, the
 * commit, the runtime that compiled them and the locked dependencies. It names no time, so that the same commit gives the same.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.ts'

type Made = {
  readonly root: string
  /** Names of files, with their SHA-256 in hex. */
  readonly files: readonly { readonly name: string; readonly sha256: string }[]
  readonly targets: readonly string[]
}

const digestOf = (path: string): string =>
  new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')

export const provenance = async ({ root, files, targets }: Made): Promise<string> => {
  const commit = (await run(['git', 'rev-parse', 'HEAD'], root).catch(() => '')).trim()
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:turnpike:npm-run-release:1',
        externalParameters: { targets },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: digestOf(join(root, 'package-lock.json')) } },
          { name: `bun ${Bun.version}`, digest: { gitCommit: Bun.revision } },
        ],
      },
      // Who ran it is who signed SHA256SUMS.
      runDetails: { builder: { id: 'urn:turnpike:scripts/release.ts' } },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}
