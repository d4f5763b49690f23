/** Where backups lie: what a folder and a bucket have in common. */
import type { ByteStore, Pieces } from '../assets/byte-store.ts'

/** A backup while it is made: nobody takes it for one before it is finished. */
export type Writing = {
  /** Where the ledger is copied to, on a local disk. */
  readonly ledger: string
  /** Bytes that are free there; undefined where that is not told. */
  freeBytes(): Promise<number | undefined>
  readonly assets: ByteStore
  /** The copy of the ledger is as it shall be: it is kept. */
  keepLedger(): Promise<void>
  /** All else is there: the manifest makes it whole. Tells what to restore it by. */
  finish(manifest: string): Promise<string>
  /** Takes away what is there of it, as far as that goes, and lets others begin. */
  end(): Promise<void>
}

/** A place that takes backups. */
export type BackupPlace = {
  /** Begins one of that name. Throws while another process makes one here. */
  begin(name: string): Promise<Writing>
}

/** One backup that was made. */
export type BackupSource = {
  /** Undefined where there is none, so that nothing else is a backup either. */
  manifest(): Promise<string | undefined>
  ledger(bytes: number): Pieces
  readonly assets: ByteStore
}

/** Another process makes a backup in the same place. */
export class Busy extends Error {}
