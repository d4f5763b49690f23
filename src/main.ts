/** The program: reads the command line and runs one command. */
import { settleEnvironment } from './cli/compiled.ts'
import { MEDIA_WORK } from './transport/own-program.ts'

const args = process.argv.slice(2)
// The compiled file is also the program of the processes that it starts; those must know no setting of the server.
if (Bun.isStandaloneExecutable && args[0] === MEDIA_WORK) await import('./transport/local-media/child.ts')
else {
  if (Bun.isStandaloneExecutable) settleEnvironment(args)
  const { run } = await import('./cli/cli.ts')
  await run(args)
}
