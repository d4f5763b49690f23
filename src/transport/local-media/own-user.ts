/**
 * A server that runs as root reads strangers' files as nobody: a fault in a library that reads them then opens neither
 * the ledger nor the settings. Other users of the machine have no such right to give up.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The user and group that own nothing, on every common system. */
const NOBODY = 65_534
const READ_AND_ENTER = 0o005

/** Whether everybody may read the folder and enter all above it. */
const isOpenToAll = (folder: string): boolean => {
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & READ_AND_ENTER) !== READ_AND_ENTER) return false
    if (at === dirname(at)) return true
  }
}

/**
 * Becomes nobody, if this is root and nobody can still load what the work needs. In a sandbox that knows only one user
 * it stays that one, which is nobody outside.
 */
export const leaveRoot = (program: string): void => {
  if (process.getuid?.() !== 0 || !isOpenToAll(program)) return
  try {
    process.setgroups?.([])
    process.setgid?.(NOBODY)
    process.setuid?.(NOBODY)
  } catch {}
}
