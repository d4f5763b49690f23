/** The bill of materials, by npm's own command, without the parts that differ from one run to the next. */
import { z } from 'zod'
import { run } from './run.ts'

const bill = z.looseObject({ metadata: z.looseObject({}) })

/** CycloneDX of everything that runs, with the time of the commit; its serial number follows from its list. */
export const billOfMaterials = async (root: string, stage: string): Promise<string> => {
  const command = ['npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only']
  const { serialNumber: _, metadata, ...listed } = bill.parse(JSON.parse(await run(command, stage)))
  const seconds = await run(['git', 'log', '-1', '--format=%ct'], root).catch(() => '0')
  const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(listed)).digest('hex')
  const serial = [/^.{8}/, /.{4}/, /.{3}/, /.{3}/, /.{12}/].reduce(
    ({ text, left }, form) => {
      const piece = form.exec(left)?.[0] ?? ''
      return { text: [...text, piece], left: left.slice(piece.length) }
    },
    { text: [] as string[], left: digest },
  ).text
  const [a, b, c, d, e] = serial
  return `${JSON.stringify(
    {
      ...listed,
      // A UUID of version 8: its bits are ours to choose.
      serialNumber: `urn:uuid:${a}-${b}-8${c}-8${d}-${e}`,
      metadata: { ...metadata, timestamp: new Date(Number(seconds) * 1_000).toISOString() },
    },
    null,
    2,
  )}\n`
}
