/** The @google/genai package: generate-content. */
import { GoogleGenAI } from '@google/genai'
import { count, model, prompt, run, tool, tryStep } from './step.mjs'

const client = new GoogleGenAI({
  apiKey: process.env.GEMINI_API_KEY,
  httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL },
})
const declared = { name: tool.name, description: tool.description, parametersJsonSchema: tool.parameters }
const config = { tools: [{ functionDeclarations: [declared] }] }

const work = async () => {
  const contents = [{ role: 'user', parts: [{ text: prompt }] }]
  for (;;) {
    const parts = []
    let usage
    for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
      usage = chunk.usageMetadata ?? usage
    }
    count(usage.promptTokenCount, usage.candidatesTokenCount)
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined)
    if (calls.length === 0) return parts.map(({ text }) => text ?? '').join('')
    contents.push({ role: 'model', parts: parts.filter((part) => part.text !== '') })
    contents.push({
      role: 'user',
      parts: calls.map(({ functionCall: { id, name, args } }) => ({
        functionResponse: {
          ...(id === undefined ? {} : { id }),
          name,
          response: { output: tryStep(args.command).text },
        },
      })),
    })
  }
}

const wait = async (abortSignal, leave) => {
  const stream = await client.models.generateContentStream({
    model,
    contents: prompt,
    config: { ...config, abortSignal },
  })
  for await (const { text } of stream) if (text) leave()
}

await run({ work, wait })
