/** Google's own client, with its chat helper for tool loops. */
import { ApiError, type Content, type FunctionDeclaration, GoogleGenAI, type Part } from '@google/genai'
import { z } from 'zod'
import {
  type Ask,
  type Called,
  collect,
  type Driver,
  descriptions,
  personSchema,
  ROUNDS_MAX,
  runTool,
  toolNames,
  toolParameters,
} from './driver.ts'

export const functionDeclarations: FunctionDeclaration[] = toolNames.map((name) => ({
  name,
  description: descriptions[name],
  parametersJsonSchema: toolParameters[name],
}))

const first = ({ prompt, image }: Ask): Part[] => [
  { text: prompt },
  ...(image === undefined ? [] : [{ inlineData: { mimeType: 'image/png', data: image } }]),
]

const configOf = ({ thinks }: Ask) => ({
  systemInstruction: 'Be brief.',
  ...(thinks === true ? { thinkingConfig: { includeThoughts: true } } : {}),
})

export const googleDrivers: readonly Driver[] = [
  {
    name: '@google/genai',
    package: '@google/genai',
    knowsSignatures: true,
    open: ({ baseURL, key }) => {
      const client = new GoogleGenAI({
        apiKey: key,
        httpOptions: { baseUrl: baseURL.replace(/\/v1$/, '') },
      })
      const answer = async (ask: Ask, contents: Content[], more: object = {}) => {
        const asked = { model: ask.model, contents, config: { ...configOf(ask), ...more } }
        const parts: Part[] = []
        let usage: { promptTokenCount?: number; candidatesTokenCount?: number; thoughtsTokenCount?: number } =
          {}
        const take = (response: Awaited<ReturnType<typeof client.models.generateContent>>) => {
          parts.push(...(response.candidates?.[0]?.content?.parts ?? []))
          usage = response.usageMetadata ?? usage
        }
        if (ask.stream === true) await collect(await client.models.generateContentStream(asked), take)
        else take(await client.models.generateContent(asked))
        const said = (thought: boolean) =>
          parts
            .filter((part) => (part.thought === true) === thought)
            .map(({ text }) => text ?? '')
            .join('')
        return { parts, usage, text: said(false), thinking: said(true) }
      }
      return {
        say: async (ask) => {
          const { text, thinking, usage } = await answer(ask, [{ role: 'user', parts: first(ask) }])
          const output = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)
          return { text, thinking, input: usage.promptTokenCount, output }
        },
        loop: async (ask) => {
          const contents: Content[] = [{ role: 'user', parts: first(ask) }]
          const rounds: Called[][] = []
          for (;;) {
            const { parts, text } = await answer(ask, contents, { tools: [{ functionDeclarations }] })
            const calls = parts.flatMap(({ functionCall }) =>
              functionCall === undefined ? [] : [functionCall],
            )
            if (calls.length === 0 || rounds.length > ROUNDS_MAX) return { rounds, text }
            rounds.push(calls.map(({ name, args }) => [name ?? '', args]))
            contents.push(
              { role: 'model', parts },
              {
                role: 'user',
                parts: calls.map(({ id, name }) => ({
                  functionResponse: {
                    ...(id === undefined ? {} : { id }),
                    name: name ?? '',
                    response: { output: runTool(name ?? '') },
                  },
                })),
              },
            )
          }
        },
        structured: async (model) => {
          const { text } = await client.models.generateContent({
            model,
            contents: 'Who is it?',
            config: {
              responseMimeType: 'application/json',
              responseJsonSchema: z.toJSONSchema(personSchema),
            },
          })
          return JSON.parse(text ?? '')
        },
        statusOf: (error) => (error instanceof ApiError ? error.status : undefined),
      }
    },
  },
]
