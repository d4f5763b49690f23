/** The developer's bench: models side by side with their cost and times, what goes with a question, and its program. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import type { JsonObject } from '../../src/core/json-body.ts'
import { completion, jsonOf, streamEvents, streaming, testModel } from '../server/harness.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

let browser: TestBrowser
let it: ListeningConsole
const asked: JsonObject[] = []
beforeAll(async () => {
  browser = await openBrowser()
  const capabilities = ['streaming', 'function_calling', 'vision'] as const
  it = await listenConsole({
    models: ['small', 'spare', 'third'].map((name) => testModel(name, { capabilities })),
  })
  it.answerWith(({ body }) => {
    asked.push(body)
    if (JSON.stringify(body.messages).includes('Hang'))
      return streaming(streamEvents(['begun']).slice(0, 2), 'hang')
    if (body.stream !== true) return completion('whole')
    if (body.tools !== undefined && JSON.stringify(body.messages).includes('"tool"') === false)
      return streaming([...callEvents, 'data: [DONE]\n\n'])
    return streaming(streamEvents([`${body.model} says `, 'hello']))
  })
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const toolDelta = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'small', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const callEvents = [
  toolDelta({
    role: 'assistant',
    tool_calls: [
      { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"ci' } },
    ],
  }),
  toolDelta({ tool_calls: [{ index: 0, function: { arguments: 'ty":"Rome"}' } }] }),
  toolDelta({}, 'tool_calls'),
]

const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('three models answer side by side with parameters, a picture and a tool; the shown program asks the same', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  await it.enter(page, 'dev@example.com', 'owner')
  await page.goto(`${it.address}/console/playground?model=mock/small`)
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('button', { name: 'Compare' }).click()
  expect(new URL(page.url()).searchParams.get('model')).toBe('mock/small,mock/spare,mock/third')
  await page.getByText('System prompt, parameters, tools').click()
  await page.getByLabel('System prompt').fill('Be brief.')
  await page.getByLabel('Temperature').fill('warm')
  const message = page.getByLabel('Message')
  await message.fill('Hello')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').filter({ hasText: 'First correct what is marked above' }).waitFor()
  await page.getByLabel('Temperature').fill('0.25')
  await page.getByLabel('Most tokens').fill('40')
  await page.getByLabel('Pictures and files').setInputFiles({
    ...{ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(PICTURE, 'base64') },
  })
  await page.getByRole('button', { name: 'Remove dot.png' }).waitFor()
  await message.fill('What is this?')
  await page.keyboard.press('Enter')
  const names = ['small', 'spare', 'third']
  for (const name of names) {
    const answer = page.getByRole('region', { name: `Answer of mock/${name}` })
    await answer.getByText(`${name} says hello`).waitFor()
    await answer.getByText(/First token after \d+ ms, all of it after \d+ ms/).waitFor()
    await answer.getByText(/\$0\.0.* request/).waitFor()
  }
  const url = `data:image/png;base64,${PICTURE}`
  expect(asked.map(({ model }) => model).sort()).toEqual(names)
  for (const body of asked)
    expect(body).toMatchObject({
      temperature: 0.25,
      max_tokens: 40,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
  // The costs beside the answers are those of the ledger.
  const { data } = await jsonOf(await (await it.visit('dev2@example.com', 'owner')).ask('GET', '/calls'))
  const titles = (await page.evaluate(
    `[...document.querySelectorAll('section [title$=" USD"]')].map((one) => one.title)`,
  )) as string[]
  expect(titles.sort()).toEqual(data.map(({ cost_usd: cost }: { cost_usd: string }) => `${cost} USD`).sort())

  // The shown program of the first model, run by the official client, asks what the page asked.
  await page.getByRole('button', { name: 'Show code' }).click()
  expect(await page.getByRole('tab').allTextContents()).toEqual(['Python', 'TypeScript', 'curl', 'Go'])
  await page.getByRole('tab', { name: 'TypeScript' }).click()
  const program = (await page.getByLabel('program for TypeScript', { exact: true }).textContent()) ?? ''
  const { token } = await it.newKey()
  const child = Bun.spawn([process.execPath, '-e', program.replace('<your key>', token)], {
    cwd: resolve(import.meta.dir, '../..'),
  })
  expect((await new Response(child.stdout).text()).split(' ')[0]).toBe('whole')
  const { stream: _s, stream_options: _o, ...shown } = asked.find(({ model }) => model === 'small') ?? {}
  expect(asked.at(-1)).toEqual(shown)
  await page.getByRole('button', { name: 'Close' }).click()

  // A call of a tool is shown, and the next message is its result.
  asked.length = 0
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('button', { name: 'Remove mock/third' }).click()
  await page.getByRole('button', { name: 'Remove mock/spare' }).click()
  await page.getByLabel('System prompt').fill('')
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
  await page.getByLabel('Tools').fill(JSON.stringify(tools))
  await message.fill('The weather in Rome?')
  await page.keyboard.press('Enter')
  await page.getByText('weather({"city":"Rome"})').waitFor()
  await page.getByText(/First token after/).waitFor()
  await message.fill('sunny')
  await page.keyboard.press('Enter')
  await page.getByText('small says hello').waitFor()
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }
  expect(asked.at(-1)?.messages).toMatchObject([
    { role: 'user', content: 'The weather in Rome?' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
  ])
  expect(errors).toEqual([])
})

test('a conversation stays when another model is compared, which is told it', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  asked.length = 0
  await it.enter(page, 'compares@example.com', 'owner')
  await page.goto(`${it.address}/console/playground?model=mock/small`)
  const message = page.getByLabel('Message')
  await message.fill('Hello')
  await page.keyboard.press('Enter')
  await page.getByText(/First token after/).waitFor()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('button', { name: 'Remove mock/spare' }).waitFor()
  const first = page.getByRole('region', { name: 'Answer of mock/small' })
  expect(await first.getByText('small says hello').count()).toBe(1)
  await message.fill('And you?')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Answer of mock/spare' }).getByText('spare says hello').waitFor()
  await first.nth(1).getByText('small says hello').waitFor()
  expect(asked.find(({ model }) => model === 'spare')?.messages).toMatchObject([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'small says hello' },
    { role: 'user', content: 'And you?' },
  ])
})

test('a model that cannot be asked says why, and those beside it answer', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  await it.enter(page, 'dev@example.com', 'owner')
  const owner = await it.visit('rules@example.com', 'owner')
  expect((await owner.ask('PUT', '/rules', { blocked_models: ['mock/spare'] })).status).toBe(200)
  await page.goto(`${it.address}/console/playground?model=mock/small,mock/spare`)
  await page.getByLabel('Message').fill('Hello')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Answer of mock/spare' }).getByRole('alert').waitFor()
  await page.getByRole('region', { name: 'Answer of mock/small' }).getByText('small says hello').waitFor()
})

test('the Enter that ends a word of an input method sends nothing', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  await it.enter(page, 'composes@example.com', 'owner')
  await page.goto(`${it.address}/console/playground?model=mock/third`)
  const message = page.getByLabel('Message')
  await message.fill('こんにち')
  await message.dispatchEvent('keydown', { key: 'Enter', isComposing: true })
  await message.fill('こんにちは')
  await page.keyboard.press('Enter')
  await page.getByText('third says hello').waitFor()
  expect(asked.at(-1)?.messages).toMatchObject([{ role: 'user', content: 'こんにちは' }])
})

test('a message is answered also where the key of the playground is gone, as after an hour', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  await it.enter(page, 'later@example.com', 'owner')
  await page.goto(`${it.address}/console/playground?model=mock/small,mock/third`)
  const message = page.getByLabel('Message')
  const answers = page.getByRole('region', { name: 'Answer of mock/small' })
  await message.fill('Hello')
  await page.keyboard.press('Enter')
  await answers.getByText('small says hello').waitFor()
  // The playground of another tab takes the place of this one's key, as an hour does.
  const { page: other } = await browser.newPage()
  await it.enter(other, 'later@example.com', 'owner')
  await other.goto(`${it.address}/console/playground?model=mock/small`)
  await other.getByLabel('Message').fill('Hello')
  await other.keyboard.press('Enter')
  await other.getByText('small says hello').waitFor()
  await message.fill('Still there?')
  await page.keyboard.press('Enter')
  await answers.nth(1).getByText('small says hello').waitFor()
})

test('an answer of a page that is left is not written on', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
  await it.enter(page, 'leaves@example.com', 'owner')
  await page.goto(`${it.address}/console/playground?model=mock/third`)
  await page.getByLabel('Message').fill('Hang')
  await page.keyboard.press('Enter')
  await page.getByText('begun').waitFor()
  const ended = page.waitForEvent('requestfailed', {
    predicate: (request) => request.url().endsWith('/chat/completions'),
  })
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await ended
})
