/** What the tests use of the server of the S3 protocol, which has no types of its own. */
declare module '@20minutes/s3rver' {
  import type { Server } from 'node:http'

  class S3rver {
    constructor(options: {
      readonly port: number
      readonly address: string
      readonly silent: boolean
      readonly directory: string
      readonly configureBuckets: readonly { readonly name: string }[]
    })
    readonly httpServer: Server | undefined
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
  export = S3rver
}
