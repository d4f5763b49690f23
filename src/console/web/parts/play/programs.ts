/** Programs that make one chat call, in the languages that people ask for. Each runs as it stands. */

export type Program = { readonly name: string; readonly text: string }

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
export type ChatBody = { readonly model: string; readonly messages: readonly Json[] } & {
  readonly [name: string]: Json
}

const words = new Map<Json, string>([
  [null, 'None'],
  [true, 'True'],
  [false, 'False'],
])

/** A value in Python. Its texts are written as JSON writes them, which Python reads alike. */
const pythonOf = (value: Json, indent: string): string => {
  if (typeof value !== 'object' || value === null) return words.get(value) ?? JSON.stringify(value)
  const inner = `${indent}    `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((one: Json) => pythonOf(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one, inner)}`)
  const [open, close] = isList ? '[]' : '{}'
  return parts.length === 0
    ? `${open}${close}`
    : `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

const python = (origin: string, key: string, body: ChatBody): string =>
  `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="${key}")
response = client.chat.completions.with_raw_response.create(
${Object.entries(body)
  .map(([name, value]) => `    ${name}=${pythonOf(value, '    ')},\n`)
  .join('')})
print(response.parse().choices[0].message.content, response.headers.get("x-cost-usd"))`

const typescript = (origin: string, key: string, body: ChatBody): string =>
  `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' })
const { data, response } = await client.chat.completions.create(${JSON.stringify(body, null, 2)}).withResponse()
console.log(data.choices[0].message.content, response.headers.get('x-cost-usd'))`

const curl = (origin: string, key: string, body: ChatBody): string =>
  `curl ${origin}/v1/chat/completions \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`

/** Go has no text without escapes that may contain a backquote, so the body is a text with them. */
const go = (origin: string, key: string, body: ChatBody): string =>
  `package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

func main() {
	body := ${JSON.stringify(JSON.stringify(body))}
	request, err := http.NewRequest("POST", "${origin}/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer ${key}")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(answer), response.Header.Get("X-Cost-Usd"))
}`

export const programsFor = (origin: string, key: string, body: ChatBody): readonly Program[] => [
  { name: 'Python', text: python(origin, key, body) },
  { name: 'TypeScript', text: typescript(origin, key, body) },
  { name: 'curl', text: curl(origin, key, body) },
  { name: 'Go', text: go(origin, key, body) },
]
