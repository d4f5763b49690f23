/** The official client of OpenAI, on the HTTP function of a test server. */
import OpenAI from 'openai'
import type { TestServer } from './harness.ts'

export const clientOf = ({ fetch }: Pick<TestServer, 'fetch'>, apiKey: string): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'http://turnpike.test/v1',
    maxRetries: 0,
    fetch: (url, init) => fetch(new Request(url as string, init as RequestInit)),
  })
