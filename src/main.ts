/** The program: reads the command line and runs one command. */
import { run } from './cli/cli.ts'

await run(process.argv.slice(2))
