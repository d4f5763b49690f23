/** Forms: the names of parts and files, as different clients write them. */
import { expect, test } from 'bun:test'
import { formParts } from './form-parts.ts'

const namesIn = async (disposition: string) => {
  const all = (async function* () {
    yield Buffer.from(`--XbX\r\nContent-Disposition: form-data; ${disposition}\r\n\r\nbytes\r\n--XbX--\r\n`)
  })()
  const [part] = await Array.fromAsync(formParts(all, 'XbX'), ({ name, filename }) => [name, filename])
  return part
}

test.each([
  ['name="file"; filename="a b.mp3"', ['file', 'a b.mp3']],
  ['name="file"; filename="%22a%22.mp3"', ['file', '"a".mp3']],
  ['name=file; filename=a.mp3', ['file', 'a.mp3']],
  ['name="model"', ['model', undefined]],
  // Old clients of Python write only this of a name that is not ASCII, .NET's both, and Rust's the name of a part so.
  [`name="file"; filename*=utf-8''my%20talk.mp3`, ['file', 'my talk.mp3']],
  [`name=file; filename="=?utf-8?B?5Y+j?="; filename*=utf-8''%E5%8F%A3.mp3`, ['file', '口.mp3']],
  [`name*=utf-8''a%20file; filename*=UTF-8'en'a.mp3`, ['a file', 'a.mp3']],
  [`name="file"; filename="a.mp3"; filename*=utf-8''%E5%8F`, ['file', 'a.mp3']],
])('%s', async (disposition, names) => {
  expect(await namesIn(disposition)).toEqual(names as never)
})

test('a name in another encoding alone is still that of a file', async () => {
  expect(await namesIn(`name="file"; filename*=iso-8859-1''%A3.mp3`)).toEqual(['file', '%A3.mp3'])
})
