/** Runs a program to its end. */

/** Its output. Throws with its messages when it fails. */
export const run = async (command: readonly string[], cwd: string): Promise<string> => {
  const child = Bun.spawn([...command], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Files have the same rights whoever makes them, and times have the same zone.
    env: { ...process.env, TZ: 'UTC' },
  })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  const code = await child.exited
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${errors.slice(-2_000)}`)
  return out
}
