/** `s3://<bucket>/<prefix>`: how settings and commands name a place in a bucket. */

type BucketName = { readonly bucket: string; readonly prefix: string }

/** The bucket, and the prefix with its slash, or an empty prefix; undefined for any other form. */
export const bucketNamed = (text: string): BucketName | undefined => {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(text) ?? []
  return bucket === undefined ? undefined : { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}
