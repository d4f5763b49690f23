/** A first call of each product: its inputs, and how to send it with a shell, Python, TypeScript and Go. */
import type { JsonObject } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { Place } from './place.ts'

const OUTPUT_TOKENS = 1_000

/** Inputs that a first-time user sends. */
export const exampleOf = ({ product, kind, maxOutputTokens }: Model): JsonObject => {
  if (product !== undefined) return product.example
  if (kind === 'embeddings') return { input: 'The sea rises twice a day.' }
  return {
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: Math.min(OUTPUT_TOKENS, maxOutputTokens),
  }
}

export const endpointOf = ({ base }: Place): string => `${base}/v1/run`

const bodyOf = (model: Model): JsonObject => ({ model: model.id, inputs: exampleOf(model) })

/** A text as one word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command for a POSIX shell; if a credential is needed, the key is in TURNPIKE_KEY. */
export const curlOf = (model: Model, place: Place, header: string): string =>
  [
    `curl -sS ${quoted(endpointOf(place))}`,
    `-H ${header}`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(bodyOf(model)))}`,
  ].join(' \\\n  ')

export const BEARER = '"Authorization: Bearer $TURNPIKE_KEY"'

/** JSON is a valid expression in both languages, except for the words that Python spells differently. */
const pythonOf = (value: JsonObject): string =>
  `json.loads(r'''${JSON.stringify(value).replaceAll("'", '\\u0027')}''')`

type Programs = { readonly python: string; readonly typescript: string; readonly go: string }

/** Each example uses only its language's own library, so that a reader installs nothing. */
export const programsOf = (model: Model, place: Place): Programs => ({
  python: [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(endpointOf(place))},`,
    `    data=json.dumps(${pythonOf(bodyOf(model))}).encode(),`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["TURNPIKE_KEY"],',
    '        "Content-Type": "application/json",',
    '    },',
    ')',
    'print(json.load(urllib.request.urlopen(request)))',
  ].join('\n'),
  typescript: [
    ['const response = await fetch(', JSON.stringify(endpointOf(place)), ', {'].join(''),
    "  method: 'POST',",
    '  headers: {',
    "    Authorization: 'Bearer ' + process.env.TURNPIKE_KEY,",
    "    'Content-Type': 'application/json',",
    '  },',
    `  body: JSON.stringify(${JSON.stringify(bodyOf(model))}),`,
    '})',
    'console.log(await response.json())',
  ].join('\n'),
  go: goOf(model, place),
})

const goOf = (model: Model, place: Place): string => `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(\`${JSON.stringify(bodyOf(model)).replaceAll('`', '\\u0060')}\`)
	request, err := http.NewRequest("POST", ${JSON.stringify(endpointOf(place))}, body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TURNPIKE_KEY"))
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
	fmt.Println(string(answer))
}`
