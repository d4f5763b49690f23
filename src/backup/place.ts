/** Where backups are kept: what a folder and a bucket have in common. */
import type { ByteStore, Pieces } from '../assets/byte-store.ts'

/** A backup in progress: nobody mistakes it for a backup before it is finished. */
export type Writing = {
  /** Where the ledger is copied to, on a local disk. */
  readonly ledger: string
  /** Free bytes there; undefined if that is unknown. */
  freeBytes(): Promise<number | undefined>
  readonly assets: ByteStore
  /** The copy of the ledger is complete: keeps it. */
  keepLedger(): Promise<void>
  /** Everything else is there: the manifest completes the backup. Returns what to restore it from. */
  finish(manifest: string): Promise<string>
  /** Removes what exists of it, as far as possible, and lets others begin. */
  end(): Promise<void>
}

/** A place that takes backups. */
export type BackupPlace = {
  /** Begins a backup of that name. Throws while another process makes one here. */
  begin(name: string): Promise<Writing>
}

/** A backup that was made. */
export type BackupSource = {
  /** Undefined if there is none; without a manifest nothing counts as a backup. */
  manifest(): Promise<string | undefined>
  ledger(bytes: number): Pieces
  readonly assets: ByteStore
}

/** Another process is making a backup in the same place. */
export class Busy extends Error {}
