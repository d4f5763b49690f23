/** The part of Tesseract's core that we use; the package has no types. */
declare module 'tesseract.js-core/tesseract-core-simd-lstm.js' {
  type Reader = {
    Init(folder: null, language: string, engine: number): number
    /** Reads the file `/input`; 0 if it is an image. */
    SetImageFile(orientation: number, angle: number): number
    Recognize(monitor: null): number
    GetUTF8Text(): string
    MeanTextConf(): number
    Clear(): void
  }

  export type Tesseract = {
    readonly FS: {
      writeFile(path: string, bytes: Uint8Array): void
      unlink(path: string): void
    }
    readonly TessBaseAPI: new () => Reader
  }

  const start: (options: Readonly<Record<string, () => void>>) => Promise<Tesseract>

  // biome-ignore lint/style/noDefaultExport: that is what the package has.
  export { start as default }
}
